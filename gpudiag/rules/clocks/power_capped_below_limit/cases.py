"""Situations of power-capped-below-limit and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

HELD: dict[str, Any] = {
    "utilization_percent": 98.0,
    "power_watts": 380.0,
    "sm_clock_megahertz": 1005.0,
    "clocks_event_reasons": 0x4,
}


def _held(minutes: float = 20, **values: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(**{**HELD, **values})
    return s.passes(minutes=minutes).window


CASES = [
    Case(
        "380 of 700 W, half of the clock, and the driver says: power",
        _held,
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case("for six minutes so far", lambda: _held(minutes=6), "fires", severity="info", confidence="possible"),
    Case("it draws its limit", lambda: _held(power_watts=690.0, sm_clock_megahertz=1200.0), "clear"),
    Case("it draws nearly its limit, in bursts", lambda: _held(power_watts=560.0), "clear"),
    Case("its clocks are high", lambda: _held(sm_clock_megahertz=1755.0), "clear"),
    Case("the cap comes and goes", lambda: _held(clocks_event_reasons=[0x4, 0, 0, 0]), "clear"),
    Case("little load", lambda: _held(utilization_percent=30.0), "clear"),
    Case("a laptop shares its power with the processor", lambda: _held(name="RTX 4090 Laptop GPU"), "clear"),
    Case("idle", lambda: Situation().passes(minutes=20).window, "clear"),
    Case("one sample cannot show it", lambda: one_sample(**HELD), "unjudged"),
    Case("the limit is not known", lambda: _held(power_limit_watts=None), "unjudged"),
]
