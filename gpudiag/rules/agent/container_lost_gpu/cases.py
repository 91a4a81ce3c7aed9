"""Situations of container-lost-gpu and its look-alikes."""

from typing import Any

from gpudiag.model import NvmlReading, PasteReading, Snapshot
from gpudiag.rule import Case
from gpudiag.rules.situations import START, Situation
from gpudiag.window import Window


def _container(error: str | None, had: int = 8, seconds: float = 60, **host: Any) -> Window:
    s = Situation(gpus=had).machine(**{"in_container": True, **host})
    if had:
        s.passes(minutes=6)
        s.gpus.clear()
    s.nvml = NvmlReading(error=error, error_code=999)
    return s.passes(seconds=seconds).window


def _pasted(errors: list[str], hints: list[str]) -> Window:
    window = Window("pasted")
    paste = PasteReading(formats=["error"], errors=errors, hints=hints)
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", paste=paste))
    return window


CASES = [
    Case(
        "NVML fails in a container that had eight GPUs",
        lambda: _container("unknown_error"),
        "fires",
        severity="critical",
        gpu=None,
    ),
    Case("pasted from a container", lambda: _pasted(["unknown_error"], ["container"]), "fires"),
    Case("pasted, but not from a container", lambda: _pasted(["unknown_error"], []), "clear"),
    Case("on the host itself", lambda: _container("unknown_error", in_container=False), "clear"),
    Case("the driver is not loaded", lambda: _container("driver_not_loaded"), "clear"),
    Case("a container that never had a GPU", lambda: _container("unknown_error", had=0), "clear"),
    Case("one failure so far", lambda: _container("no_permission", seconds=10), "clear"),
]
