"""Situations of clock-skew and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _off(seconds: float | None) -> Window:
    window = Situation().passes(minutes=6).window
    window.clock_offset_seconds = seconds
    return window


CASES = [
    Case("twelve seconds behind", lambda: _off(12.0), "fires", severity="info", gpu=None),
    Case("five minutes ahead", lambda: _off(-300.0), "fires", severity="warning", variant="ahead"),
    Case("half a second", lambda: _off(0.5), "clear"),
    Case("one machine, one clock", lambda: _off(None), "clear"),
]
