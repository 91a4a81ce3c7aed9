"""Situations of gpu-init-failed and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable
from gpudiag.window import Window

FAILED = "NVRM: GPU 0000:{}:00.0: RmInitAdapter failed! (0x22:0x56:884)"
BOOT = "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)"


def _logged(bus: str) -> Window:
    s = Situation(gpus=2)
    s.logs("init_failed", FAILED.format(bus), bus_id=f"0000:{bus}:00.0")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "the adapter could not be initialised",
        lambda: kernel_lines(FAILED.format("01")),
        "fires",
        severity="critical",
        confidence="likely",
    ),
    Case(
        "its own firmware does not finish to boot",
        lambda: kernel_lines(BOOT, FAILED.format("98")),
        "fires",
        variant="firmware",
    ),
    Case(
        "the driver is not for this card",
        lambda: kernel_lines(
            "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)",
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
        ),
        "fires",
        variant="driver",
    ),
    Case("one of three cards", lambda: _logged("98"), "fires"),
    Case("it failed once and runs by now", lambda: _logged("19"), "clear"),
    Case(
        "a lost card has a rule of its own",
        lambda: kernel_lines("NVRM: GPU 0000:91:00.0: GPU has fallen off the bus."),
        "clear",
    ),
    Case(
        "another driver owns the cards",
        lambda: kernel_lines("NVRM: The NVIDIA probe routine was not called for 3 device(s)."),
        "clear",
    ),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
