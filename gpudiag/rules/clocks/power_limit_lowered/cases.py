"""Situations of power-limit-lowered and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample, sample_of
from gpudiag.rules.situations import Situation, idle_h100
from gpudiag.window import Window


def _limit(watts: float | None, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(power_limit_watts=watts, **values)
    return s.passes(minutes=2).window


def _odd_one_out() -> Window:
    readings = [idle_h100(index) for index in range(4)]
    for reading in readings:
        reading.power_limit_default_watts = None
    readings[0].power_limit_watts = 500.0
    return sample_of(readings)


CASES = [
    Case("somebody lowered it", lambda: _limit(400.0), "fires", severity="warning", confidence="proven"),
    Case(
        "in one pasted sample: it may be set on purpose",
        lambda: one_sample(power_limit_watts=400.0),
        "fires",
        severity="info",
    ),
    Case(
        "lower than its siblings, and no default is shown",
        _odd_one_out,
        "fires",
        variant="siblings",
        confidence="likely",
    ),
    Case("at its default", lambda: _limit(700.0), "clear"),
    Case("a little below, as some boards are shipped", lambda: _limit(680.0), "clear"),
    Case(
        "a laptop moves its limit all the time",
        lambda: _limit(40.0, name="NVIDIA GeForce RTX 4060 Laptop GPU"),
        "clear",
    ),
    Case("the limit cannot be read", lambda: _limit(None), "unjudged"),
    Case(
        "no default is shown, and no siblings are there",
        lambda: _limit(400.0, power_limit_default_watts=None),
        "unjudged",
    ),
]
