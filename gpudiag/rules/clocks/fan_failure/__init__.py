"""The fan stands still on a hot GPU, or does not follow what it is told."""

import re

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.window import W5, GpuWindow

# Boards without a fan of their own: most read N/A, these 0 %.
PASSIVE = re.compile(r"(?:NVIDIA |Tesla )?(?:A2|A10[GM]?|A16|A30|A40|L2|L4|L20|L40[GS]?)")


@rule(severity="warning", rank=THERMAL, given=("fan",))
def fan_failure(
    gpu: GpuWindow,
    *,
    min_temperature_celsius: float = 60.0,
    min_sample_celsius: float = 70.0,
    min_percent: float = 30.0,
) -> Fires | None:
    """The fan reads 0 on a warm GPU, or turns at 0 although it is told to turn."""
    percent = gpu.now("fan_percent")
    if gpu.reading.fan_rpm == 0 and percent >= min_percent:
        return Fires(
            (measured("fan_rpm", 0), measured("fan_percent", percent)),
            confidence="proven",
            variant="no-turns",
        )
    if percent > 0 or gpu.reading.fan_count == 0 or PASSIVE.fullmatch(gpu.reading.name or ""):
        return None
    enough = gpu.covers(W5)
    warm = min_temperature_celsius if enough else min_sample_celsius
    temperature = gpu.over("temperature_celsius", W5)
    if temperature.min <= warm or gpu.over("fan_percent", W5).max > 0:
        return None
    return Fires(
        (
            measured("fan_percent", percent, window=W5 if enough else None),
            measured("temperature_celsius", gpu.now("temperature_celsius")),
        ),
        confidence="likely" if enough else "possible",
        severity="warning" if enough else "info",
    )
