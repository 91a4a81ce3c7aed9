"""Situations of cpu-throttled and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, starved_training, training_in_bursts, vllm_idle
from gpudiag.window import Window


def _job(**process: Any) -> Window:
    s = starved_training(minutes=0)
    s.runs(pid=5400, **process)
    return s.passes(minutes=6).window


def _nobody_asks() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=20 * GIB)
    s.runs({0: 20 * GIB}, name="python3", pod="a", cpu_quota_throttled_ratio=0.6)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "stopped for a third of the time",
        lambda: _job(pod="train-0", cpu_quota_throttled_ratio=0.34),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case(
        "a job that works in bursts, and is stopped in between",
        lambda: training_in_bursts(cpu_quota_throttled_ratio=0.4).window,
        "fires",
    ),
    Case("a job that works in bursts", lambda: training_in_bursts().window, "clear"),
    Case("hardly ever", lambda: _job(pod="train-0", cpu_quota_throttled_ratio=0.02), "clear"),
    Case("no container, no quota", lambda: _job(), "clear"),
    Case("no requests", _nobody_asks, "clear"),
    Case("a reserved pool", lambda: vllm_idle().window, "clear"),
    Case("its group cannot be read", lambda: _job(pod="train-0"), "unjudged"),
]
