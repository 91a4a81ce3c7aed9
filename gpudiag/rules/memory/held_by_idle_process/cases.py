"""Situations of held-by-idle-process and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _held(hours: float, age_hours: float = 48, state: str = "S", **gpu: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=20 * GIB, **gpu)
    s.runs(
        {0: 20 * GIB},
        pid=5300,
        name="python3",
        command="python3 work.py",
        user="lee",
        state=state,
        started_at=s.now - age_hours * 3600,
    )
    return s.passes(minutes=60 * hours).window


CASES = [
    Case("seven hours without work", lambda: _held(7), "fires", severity="info"),
    Case("a stopped process", lambda: _held(7, state="T"), "fires", variant="stopped"),
    Case("it works now and then", lambda: _held(7, utilization_percent=[0.0] * 20 + [60.0]), "clear"),
    Case("it started an hour ago", lambda: _held(1, age_hours=0.1), "clear"),
    Case("nobody is on the GPU", lambda: Situation().passes(minutes=10).window, "clear"),
    Case("watched for an hour only", lambda: _held(1), "unjudged"),
]
