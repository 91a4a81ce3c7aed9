"""Situations of pcie-width-degraded and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _width(width: int | None, utilization: float = 95.0, gpus: int = 4, all_alike: bool = False) -> Window:
    s = Situation(gpus=gpus)
    s.all_gpus(utilization_percent=utilization)
    for index in s.gpus if all_alike else (0,):
        s.gpu(index).shows(pcie_link_width=width)
    return s.passes(minutes=16).window


CASES = [
    Case("half the lanes under load", lambda: _width(8), "fires", severity="warning", confidence="proven"),
    Case(
        "one lane of sixteen in one pasted sample, busy",
        lambda: one_sample(pcie_link_width=1, utilization_percent=100.0),
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case(
        "all slots of the board are wired so",
        lambda: _width(8, all_alike=True),
        "fires",
        severity="info",
        variant="slot",
    ),
    Case("all lanes", lambda: _width(16), "clear"),
    Case("the full width, slow while idle", lambda: one_sample(pcie_link_generation=1, pstate="P8"), "clear"),
    Case("narrow at rest: only load tells", lambda: _width(8, utilization=0.0), "unjudged"),
    Case("the width cannot be read", lambda: _width(None), "unjudged"),
]
