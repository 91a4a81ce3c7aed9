"""Situations of iommu-acs-p2p and its look-alikes."""

from gpudiag.model import NvLink
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _node(bridges: int | None, gpus: int = 4, gap: str | None = None, **values: object) -> Window:
    s = Situation(gpus=gpus)
    s.machine(acs_bridges=bridges)
    s.all_gpus(**values)
    if gap:
        s.misses("host", "acs_bridges", gap)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "ACS on bridges of a bare-metal node",
        lambda: _node(4),
        "fires",
        severity="info",
        confidence="possible",
        gpu=None,
    ),
    Case("switched off", lambda: _node(0), "clear", gpu=None),
    Case("a virtual machine needs it", lambda: _node(4, virtualization="passthrough"), "clear", gpu=None),
    Case("one GPU has no peer", lambda: _node(4, gpus=1), "clear", gpu=None),
    Case(
        "peers talk over NVLink", lambda: _node(4, nvlinks=[NvLink(link=0, active=True)]), "clear", gpu=None
    ),
    Case("the bridges cannot be read", lambda: _node(None, gap="no_permission"), "unjudged", gpu=None),
]
