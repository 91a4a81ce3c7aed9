"""Situations of nvml-unavailable and its look-alikes."""

from typing import Any

from gpudiag.model import NvmlReading
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, lost_all_gpus
from gpudiag.window import Window


def _fails(error: str | None, minutes: float = 2, **host: Any) -> Window:
    s = Situation(gpus=0).machine(**{"pci_gpu_count": 8, **host})
    s.nvml = NvmlReading(error=error, error_code=9 if error else None)
    return s.passes(minutes=minutes).window


def _fails_once_a_minute() -> Window:
    s = Situation(gpus=0).machine(pci_gpu_count=8)
    s.agent.interval_seconds = 60.0
    s.nvml = NvmlReading(error="driver_not_loaded")
    for _ in range(4):
        s.is_silent(50).reports()
    return s.window


def _expected() -> Window:
    window = _fails("driver_not_loaded", pci_gpu_count=0)
    window.expected_gpus = 8
    return window


CASES = [
    Case(
        "the driver is not loaded",
        lambda: _fails("driver_not_loaded"),
        "fires",
        severity="critical",
        variant="no-driver",
        gpu=None,
    ),
    Case("the library is missing", lambda: _fails("library_not_found"), "fires", variant="no-library"),
    Case(
        "another driver has the cards",
        lambda: _fails("driver_not_loaded", modules=["nouveau"]),
        "fires",
        variant="nouveau",
    ),
    Case("GPUs are expected and none is on the bus", _expected, "fires"),
    Case("GPUs were here, and none is on the bus any more", lost_all_gpus, "fires", severity="critical"),
    Case("none are left, as declared", lambda: lost_all_gpus(expected=0), "clear"),
    Case("NVML answers", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("versions differ: another rule", lambda: _fails("library_mismatch"), "clear"),
    Case("a host without GPUs", lambda: _fails("library_not_found", pci_gpu_count=0), "clear"),
    Case("a container that lost its devices", lambda: _fails("unknown_error", in_container=True), "clear"),
    Case("an agent that reports once a minute", _fails_once_a_minute, "fires"),
    Case("one failure so far", lambda: _fails("driver_not_loaded", minutes=1 / 6), "unjudged"),
    Case("access is refused", lambda: _fails("no_permission"), "fires", variant="no-permission"),
    Case("it fails for an unknown reason", lambda: _fails("unknown_error"), "fires"),
]
