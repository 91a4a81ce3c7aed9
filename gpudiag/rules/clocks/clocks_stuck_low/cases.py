"""Situations of clocks-stuck-low and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

LOAD: dict[str, Any] = {
    "utilization_percent": 98.0,
    "power_watts": 600.0,
    "sm_clock_megahertz": 1905.0,
    "clocks_event_reasons": 0,
}
SLOW: dict[str, Any] = {**LOAD, "power_watts": 210.0, "sm_clock_megahertz": 795.0}


def _slow(minutes: float = 20, **values: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(**LOAD)
    s.passes(minutes=30)
    s.gpu(0).shows(**{**SLOW, **values})
    return s.passes(minutes=minutes).window


def _no_clock() -> Window:
    s = Situation()
    s.gpu(0).shows(**SLOW).hides("sm_clock_megahertz")
    return s.passes(minutes=20).window


CASES = [
    Case(
        "795 MHz of 1980 under full load, without a reason",
        _slow,
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case(
        "six minutes are not confirmed yet",
        lambda: _slow(minutes=6),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case("at 87 % load", lambda: _slow(utilization_percent=87.0), "fires", severity="warning"),
    Case("a GeForce card, which computes in P2", lambda: _slow(pstate="P2"), "fires"),
    Case(
        "at half load clocks are what the driver makes of it",
        lambda: _slow(utilization_percent=50.0),
        "clear",
    ),
    Case("a light load keeps the card in a lower state", lambda: _slow(pstate="P5"), "clear"),
    Case("the display's clocks are the reason", lambda: _slow(clocks_event_reasons=0x100), "clear"),
    Case(
        "a reason that has no name here",
        lambda: _slow(clocks_event_reasons=0x200),
        "fires",
        severity="info",
        confidence="possible",
        variant="reason-unnamed",
    ),
    Case("the power limit is the reason", lambda: _slow(clocks_event_reasons=0x4), "clear"),
    Case("an administrator set the clocks", lambda: _slow(clocks_event_reasons=0x2), "clear"),
    Case(
        "a hung job spins at high clocks",
        lambda: _slow(sm_clock_megahertz=1980.0, power_watts=140.0),
        "clear",
    ),
    Case(
        "short kernels with pauses: the card idles in between",
        lambda: _slow(clocks_event_reasons=0x1),
        "clear",
    ),
    Case(
        "a third of the highest clock, and the reasons cannot be read",
        lambda: _slow(clocks_event_reasons=None),
        "fires",
        severity="info",
        confidence="possible",
        variant="reasons-unread",
    ),
    Case(
        "the reasons cannot be read, and it draws what its limit allows",
        lambda: _slow(clocks_event_reasons=None, power_watts=295.0, power_limit_watts=300.0),
        "clear",
    ),
    Case("idle", lambda: _slow(utilization_percent=0.0), "clear"),
    Case(
        "one pasted sample may show it",
        lambda: one_sample(**SLOW),
        "fires",
        severity="info",
        confidence="possible",
        variant="one-sample",
    ),
    Case(
        "one pasted sample of a laptop in P3",
        lambda: one_sample(**{**SLOW, "pstate": "P3"}),
        "fires",
        variant="one-sample",
    ),
    Case(
        "one pasted sample at the power limit, its reasons not shown",
        lambda: one_sample(**{**SLOW, "power_watts": 690.0, "clocks_event_reasons": None}),
        "clear",
    ),
    Case("the clock cannot be read", _no_clock, "unjudged"),
]
