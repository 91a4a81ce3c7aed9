"""Situations of persistence-off and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _off(minutes: float = 35, waited: float | None = None, held: bool = False, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"persistence_mode": False, **values})
    s.nvml.first_call_seconds = waited
    if held:
        s.runs({0: GIB}, name="python3", command="python3 train.py")
    return s.passes(minutes=minutes).window


CASES = [
    Case("nobody holds the GPU between jobs", _off, "fires", severity="info", confidence="proven"),
    Case("the first call took two seconds", lambda: _off(minutes=1, waited=2.1), "fires", variant="slow"),
    Case("in one pasted sample of a server's card", lambda: one_sample(persistence_mode=False), "fires"),
    Case("switched on", lambda: _off(persistence_mode=True), "clear"),
    Case("a process holds the GPU open", lambda: _off(held=True), "clear"),
    Case("a desktop's card", lambda: _off(name="NVIDIA GeForce RTX 4090", display_active=True), "clear"),
    Case("a guest with a slice", lambda: _off(virtualization="vgpu"), "clear"),
    Case("on Windows there is no such mode", lambda: _off(driver_model="wddm"), "clear"),
    Case("the mode cannot be read", lambda: _off(persistence_mode=None), "unjudged"),
]
