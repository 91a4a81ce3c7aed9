"""Situations of thermal-margin-low and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _warm(minutes: float = 16, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=98.0, temperature_celsius=84.0, **values)
    return s.passes(minutes=minutes).window


def _old(temperature: float) -> Window:
    s = Situation()
    s.gpu(0).shows(
        temperature_margin_celsius=None, temperature_slowdown_celsius=87.0, temperature_celsius=temperature
    )
    return s.passes(minutes=16).window


def _nothing_known() -> Window:
    s = Situation()
    s.gpu(0).shows(temperature_celsius=84.0).hides("temperature_margin_celsius")
    return s.passes(minutes=16).window


CASES = [
    Case(
        "three degrees for a quarter of an hour",
        lambda: _warm(temperature_margin_celsius=3.0),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case("an older GPU gives its limit instead", lambda: _old(85.0), "fires", severity="warning"),
    Case(
        "for one minute so far",
        lambda: _warm(minutes=1, temperature_margin_celsius=3.0),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case(
        "near its highest operating temperature, in one pasted sample",
        lambda: one_sample(
            temperature_margin_celsius=None,
            temperature_slowdown_celsius=97.0,
            temperature_operating_max_celsius=57.0,
            temperature_celsius=56.0,
        ),
        "fires",
        severity="info",
        variant="operating",
        confidence="possible",
    ),
    Case("84 degrees with room above is no finding", lambda: _warm(temperature_margin_celsius=12.0), "clear"),
    Case("a cool GPU", lambda: Situation().passes(minutes=16).window, "clear"),
    Case("an older GPU, cool", lambda: _old(61.0), "clear"),
    Case("no limit is known: no fixed number takes its place", _nothing_known, "unjudged"),
]
