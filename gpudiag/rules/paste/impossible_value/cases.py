"""Situations of impossible-value and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.window import Window


def _cannot_be(*names: str, **values: Any) -> Window:
    reading = shown(**{**dict.fromkeys(names), **values})
    return sample(reading, gaps={"gpu:0": dict.fromkeys(names, "nonsense")})


def _failed() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": "unknown_error"}})


def _overheated() -> Window:
    return sample(shown(temperature_celsius=98.0, utilization_percent=100.0, power_watts=470.0))


MEMORY = ("memory_used_bytes", "memory_total_bytes")
CASES = [
    Case(
        "utilization above 100 %",
        lambda: _cannot_be("utilization_percent"),
        "fires",
        severity="unknown",
        variant="utilization",
    ),
    Case("more memory used than there is", lambda: _cannot_be(*MEMORY), "fires", variant="memory"),
    Case("a power of 9000 W", lambda: _cannot_be("power_watts"), "fires", variant="power"),
    Case(
        "a temperature of 900 °C", lambda: _cannot_be("temperature_celsius"), "fires", variant="temperature"
    ),
    Case("a limit that cannot be is no reading", lambda: _cannot_be("power_limit_watts"), "clear"),
    Case("ERR! is a sensor that failed", _failed, "clear"),
    Case("hot, at full load and a little above the power limit", _overheated, "clear"),
]
