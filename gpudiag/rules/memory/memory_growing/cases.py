"""Situations of memory-growing and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _grows(
    per_minute: float, minutes: int = 32, start: float = 20, age_hours: float = 5, **process: Any
) -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=90.0)
    known = {
        "pid": 5600,
        "name": "python3",
        "command": "python3 infer.py",
        "started_at": s.now - age_hours * 3600,
    }
    reading = s.runs({0: GIB}, **{**known, **process})
    for minute in range(minutes):
        held = int((start + per_minute * minute) * GIB)
        s.gpu(0).shows(memory_used_bytes=held)
        reading.gpus[0].memory_used_bytes = held  # type: ignore[index]
        s.passes(minutes=1)
    return s.window


def _plateau() -> Window:
    s = Situation()
    reading = s.runs({0: GIB}, pid=5600, name="python3", started_at=s.now - 9999)
    for minute in range(34):
        held = (20 + 10 * (minute % 2)) * GIB
        s.gpu(0).shows(memory_used_bytes=held, utilization_percent=90.0)
        reading.gpus[0].memory_used_bytes = held  # type: ignore[index]
        s.passes(minutes=1)
    return s.window


CASES = [
    Case("two hours until it is full", lambda: _grows(0.3), "fires", severity="warning"),
    Case("half an hour until it is full", lambda: _grows(1.0), "fires", severity="critical"),
    Case("it swings up and down", _plateau, "clear"),
    Case("it has just started", lambda: _grows(0.3, age_hours=0.1), "clear"),
    Case("an engine's pool is fixed", lambda: vllm_idle(minutes=35).window, "clear"),
    Case("it stays the same", lambda: _grows(0.0), "clear"),
    Case("seen for fifteen minutes", lambda: _grows(1.0, minutes=15), "unjudged"),
]
