"""Situations of power-cap-at-full-load and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _capped(**values: object) -> Window:
    s = Situation()
    full = {
        "utilization_percent": 99.0,
        "power_watts": 698.0,
        "clocks_event_reasons": 0x4,
        "sm_clock_megahertz": 1620.0,
        "temperature_celsius": 66.0,
    }
    s.gpu(0).shows(**{**full, **values})
    return s.passes(minutes=6).window


def _no_limit() -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=99.0, power_watts=698.0, clocks_event_reasons=0x4).hides(
        "power_limit_watts"
    )
    return s.passes(minutes=6).window


CASES = [
    Case("a full load at the default limit", _capped, "fires", severity="ok", confidence="likely"),
    Case(
        "the same in one pasted sample",
        lambda: one_sample(utilization_percent=99.0, power_watts=699.0, clocks_event_reasons=0x4),
        "fires",
        severity="ok",
        confidence="possible",
        variant="one-sample",
    ),
    Case(
        "power and limits alone were pasted",
        lambda: one_sample(utilization_percent=None, power_watts=699.0, clocks_event_reasons=0x4),
        "fires",
        severity="info",
        confidence="possible",
        variant="load-unseen",
    ),
    Case(
        "the same at rest",
        lambda: one_sample(utilization_percent=None, power_watts=70.0, clocks_event_reasons=0x4),
        "clear",
    ),
    Case("the limit was lowered", lambda: _capped(power_limit_watts=400.0, power_watts=398.0), "clear"),
    Case("the flag is set while the GPU draws little", lambda: _capped(power_watts=180.0), "clear"),
    Case(
        "the flag is set on an idle card", lambda: _capped(utilization_percent=0.0, power_watts=70.0), "clear"
    ),
    Case("loaded without a cap", lambda: _capped(clocks_event_reasons=0, power_watts=520.0), "clear"),
    Case("the limit cannot be read", _no_limit, "unjudged"),
]
