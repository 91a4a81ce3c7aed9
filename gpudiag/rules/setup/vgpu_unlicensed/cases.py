"""Situations of vgpu-unlicensed and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _guest(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"name": "NVIDIA A10-24Q", "virtualization": "vgpu", **values})
    return s.passes(minutes=1).window


CASES = [
    Case(
        "a guest without a licence",
        lambda: _guest(vgpu_licensed=False),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case(
        "in one pasted sample",
        lambda: one_sample(name="GRID A100-40C", virtualization="vgpu", vgpu_licensed=False),
        "fires",
    ),
    Case(
        "the section on the licence alone",
        lambda: one_sample(name=None, virtualization=None, vgpu_licensed=False),
        "fires",
        confidence="possible",
    ),
    Case("a guest with a licence", lambda: _guest(vgpu_licensed=True), "clear"),
    Case("bare metal", lambda: Situation().passes(minutes=1).window, "clear"),
    Case(
        "a board whose name only looks alike",
        lambda: one_sample(name="GRID K520", virtualization=None),
        "clear",
    ),
    Case("the licence cannot be read", lambda: _guest(vgpu_licensed=None), "unjudged"),
    Case(
        "a pasted table shows the slice and not the licence",
        lambda: one_sample(name="NVIDIA A10-24Q", virtualization=None),
        "unjudged",
    ),
]
