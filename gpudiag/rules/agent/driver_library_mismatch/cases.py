"""Situations of driver-library-mismatch and its look-alikes."""

from typing import Any

from gpudiag.model import NvmlReading, PasteReading, Snapshot
from gpudiag.rule import Case
from gpudiag.rules.situations import START, Situation
from gpudiag.window import Window


def _fails(error: str, minutes: float = 1, **host: Any) -> Window:
    s = Situation(gpus=0).machine(pci_gpu_count=8, kernel_driver_version="580.65.06", **host)
    s.nvml = NvmlReading(error=error, error_code=18)
    return s.passes(minutes=minutes).window


def _pasted(*errors: str) -> Window:
    window = Window("pasted")
    paste = PasteReading(formats=["error"], errors=list(errors))
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", paste=paste))
    return window


def _updated(library: str | None, **host: Any) -> Window:
    s = Situation().machine(kernel_driver_version="580.65.06", library_driver_version=library, **host)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "the module is older than the library",
        lambda: _fails("library_mismatch"),
        "fires",
        severity="critical",
        confidence="proven",
        gpu=None,
    ),
    Case("a pasted error line", lambda: _pasted("library_mismatch"), "fires"),
    Case(
        "inside a container",
        lambda: _fails("library_mismatch", in_container=True),
        "fires",
        variant="container",
    ),
    Case(
        "the library was updated on disk, and the agent still runs with the old one",
        lambda: _updated("580.105.08"),
        "fires",
        severity="critical",
        confidence="likely",
        variant="updated",
        gpu=None,
    ),
    Case("module and library are of one version", lambda: _updated("580.65.06"), "clear"),
    Case("a library whose file names no version", lambda: _updated(None), "clear"),
    Case(
        "a container with a library of its own, whose NVML answers",
        lambda: _updated("580.105.08", in_container=True),
        "clear",
    ),
    Case("no driver at all", lambda: _fails("driver_not_loaded"), "clear"),
    Case("another pasted error", lambda: _pasted("no_devices"), "clear"),
    Case("NVML answers", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("one failure so far", lambda: _fails("library_mismatch", minutes=1 / 6), "unjudged"),
]
