"""Situations of pcie-low-gen-idle and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _link(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"pcie_link_generation": 1, "pstate": "P8", **values})
    return s.passes(minutes=3).window


def _unknown() -> Window:
    s = Situation()
    s.gpu(0).hides("pcie_link_generation")
    return s.passes(minutes=3).window


CASES = [
    Case("an idle GPU saves power on its link", _link, "fires", severity="ok", confidence="proven"),
    Case("the same in one pasted sample", lambda: one_sample(pcie_link_generation=1, pstate="P8"), "fires"),
    Case("a little work in a low state", lambda: _link(utilization_percent=12.0), "fires"),
    Case("a busy GPU with a slow link", lambda: _link(utilization_percent=90.0, pstate="P0"), "clear"),
    Case("a narrow link is no power saving", lambda: _link(pcie_link_width=8), "clear"),
    Case("the full speed", lambda: _link(pcie_link_generation=5), "clear"),
    Case("the link cannot be read", _unknown, "unjudged"),
]
