"""Situations of no-gpu-host and its look-alikes."""

from typing import Any

from gpudiag.model import NvmlReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import Situation, lost_all_gpus
from gpudiag.window import Window


def _host(on_bus: int | None, expected: int | None = None, **host: Any) -> Window:
    s = Situation(gpus=0).machine(pci_gpu_count=on_bus, **host)
    s.nvml = NvmlReading(error="library_not_found")
    window = s.passes(minutes=1).window
    window.expected_gpus = expected
    return window


CASES = [
    Case("no card, no driver, none expected", lambda: _host(0), "fires", severity="info", gpu=None),
    Case(
        "no card, and the driver is loaded",
        lambda: _host(0, modules=["nvidia"]),
        "fires",
        severity="warning",
        variant="driver-loaded",
    ),
    Case(
        "the driver is loaded for NVSwitches alone",
        lambda: _host(0, modules=["nvidia"], nvswitches=4),
        "fires",
        severity="info",
    ),
    Case(
        "a Jetson, whose GPU is on no bus",
        lambda: _host(0, modules=["nvidia", "nvgpu"]),
        "fires",
        severity="info",
    ),
    Case(
        "none are left, as declared",
        lambda: lost_all_gpus(expected=0),
        "fires",
        severity="info",
    ),
    Case("cards that were here are gone", lost_all_gpus, "clear"),
    Case("cards without a driver", lambda: _host(4), "clear"),
    Case("cards are expected", lambda: _host(0, expected=8), "clear"),
    Case("a node with GPUs", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("pasted text", lambda: pasted(gpus=0), "clear"),
    Case("the bus cannot be read", lambda: _host(None), "unjudged"),
]
