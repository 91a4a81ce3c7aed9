"""Situations of fan-failure and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _fan(minutes: float = 6, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"name": "NVIDIA GeForce RTX 4090", "fan_count": 2, **values})
    return s.passes(minutes=minutes).window


def _unknown() -> Window:
    s = Situation()
    s.gpu(0).shows(fan_count=2)
    s.misses("gpu:0", "fan_percent", "unknown_error")
    return s.passes(minutes=6).window


CASES = [
    Case(
        "a hot GPU whose fan stands still",
        lambda: _fan(fan_percent=0.0, temperature_celsius=81.0),
        "fires",
        severity="warning",
        confidence="likely",
    ),
    Case(
        "told to turn, and does not",
        lambda: _fan(fan_percent=80.0, fan_rpm=0),
        "fires",
        variant="no-turns",
        confidence="proven",
    ),
    Case(
        "in one pasted sample",
        lambda: one_sample(fan_percent=0.0, fan_count=1, temperature_celsius=85.0),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case(
        "a cool card stops its fan on purpose",
        lambda: _fan(fan_percent=0.0, temperature_celsius=45.0),
        "clear",
    ),
    Case("a fan that turns", lambda: _fan(fan_percent=64.0, fan_rpm=2100, temperature_celsius=77.0), "clear"),
    Case("a card without a fan of its own", lambda: Situation().passes(minutes=6).window, "clear"),
    Case(
        "a board that its server cools and whose fan reads 0 %",
        lambda: _fan(name="NVIDIA A10", fan_count=None, fan_percent=0.0, temperature_celsius=81.0),
        "clear",
    ),
    Case("the fan cannot be read", _unknown, "unjudged"),
]
