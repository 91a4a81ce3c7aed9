"""Situations of hbm-hot and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _memory(celsius: float | None, limit: float | None = 95.0, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(temperature_memory_celsius=celsius, temperature_memory_max_celsius=limit, **values)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "two degrees below its limit", lambda: _memory(93.0), "fires", severity="warning", confidence="proven"
    ),
    Case(
        "in one pasted sample",
        lambda: one_sample(temperature_memory_celsius=94.0, temperature_memory_max_celsius=95.0),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case("warm, with room above", lambda: _memory(84.0), "clear"),
    Case("a hot core and cool memory", lambda: _memory(70.0, temperature_margin_celsius=1.0), "clear"),
    Case("the limit is not known", lambda: _memory(93.0, limit=None), "unjudged"),
]
