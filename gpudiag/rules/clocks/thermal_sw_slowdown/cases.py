"""Situations of thermal-sw-slowdown and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation, reasons_hidden
from gpudiag.window import Window

LOAD: dict[str, Any] = {
    "utilization_percent": 98.0,
    "power_watts": 610.0,
    "temperature_celsius": 71.0,
    "sm_clock_megahertz": 1905.0,
    "clocks_event_reasons": 0,
}
HOT: dict[str, Any] = {"temperature_celsius": 86.0, "clocks_event_reasons": 0x20}


def _hot(clock: float = 1410.0, usual_minutes: float = 30, minutes: float = 6, reasons: Any = 0x20) -> Window:
    s = Situation(gpus=2)
    s.gpu(0).shows(**LOAD)
    s.passes(minutes=usual_minutes)
    s.gpu(0).shows(**{**HOT, "clocks_event_reasons": reasons}, sm_clock_megahertz=clock)
    return s.passes(minutes=minutes).window


def _counted(seconds: int) -> Window:
    nanoseconds = seconds * 1_000_000_000
    return one_sample(
        utilization_percent=None, clocks_event_reasons=0, throttle_sw_thermal_nanoseconds=nanoseconds
    )


CASES = [
    Case("slower than it usually is under load", _hot, "fires", severity="warning", confidence="proven"),
    Case(
        "held at its target, and hardly slower",
        lambda: _hot(clock=1890.0),
        "fires",
        severity="info",
        variant="slight",
    ),
    Case(
        "its usual clock is not known",
        lambda: _hot(usual_minutes=0),
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case(
        "one pasted sample shows the bit",
        lambda: one_sample(clocks_event_reasons=0x24, temperature_celsius=68.0),
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case(
        "a pasted part counts minutes of it since the driver was loaded",
        lambda: _counted(173),
        "fires",
        severity="info",
        variant="before",
    ),
    Case("a pasted part counts a second of it", lambda: _counted(1), "clear"),
    Case(
        "a few seconds as the load begins", lambda: _hot(reasons=[0x20] * 6 + [0] * 294, minutes=5), "clear"
    ),
    Case("a full load at the power limit", lambda: _hot(reasons=0x4), "clear"),
    Case("cool and idle", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("the reasons cannot be read", reasons_hidden, "unjudged"),
]
