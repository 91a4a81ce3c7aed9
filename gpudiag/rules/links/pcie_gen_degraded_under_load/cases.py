"""Situations of pcie-gen-degraded-under-load and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _link(minutes: float = 6, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"utilization_percent": 97.0, "pstate": "P0", "pcie_link_generation": 2, **values})
    return s.passes(minutes=minutes).window


CASES = [
    Case("generation 2 of 5 at full load", _link, "fires", severity="warning", confidence="likely"),
    Case(
        "in one pasted sample",
        lambda: one_sample(utilization_percent=97.0, pcie_link_generation=2),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case("the full speed", lambda: _link(pcie_link_generation=5), "clear"),
    Case("an idle GPU saves power", lambda: _link(utilization_percent=0.0, pstate="P8"), "clear"),
    Case("a little load in a low state", lambda: _link(utilization_percent=60.0, pstate="P5"), "clear"),
    Case("the generation cannot be read", lambda: _link(pcie_link_generation=None), "unjudged"),
]
