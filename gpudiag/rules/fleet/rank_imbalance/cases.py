"""Situations of rank-imbalance and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _job(odd: dict[str, Any], gpus: int = 8, minutes: float = 16, **process: Any) -> Window:
    s = Situation(gpus=gpus)
    for index in range(gpus):
        clock, power = 1700.0 + 4 * index, 600.0 + 2 * index
        s.gpu(index).shows(utilization_percent=97.0, sm_clock_megahertz=clock, power_watts=power)
        s.runs(
            {index: 60 * GIB},
            pid=5000 + index,
            name="python3",
            **{"command": "torchrun train.py", "slurm_job": "42", **process},
        )
    s.gpu(3).shows(**odd)
    return s.passes(minutes=minutes).window


CASES = [
    Case(
        "one of eight runs at 1200 MHz",
        lambda: _job({"sm_clock_megahertz": 1200.0}),
        "fires",
        severity="warning",
        confidence="possible",
        gpu=None,
    ),
    Case("one of eight draws half the power", lambda: _job({"power_watts": 300.0}), "fires", variant="power"),
    Case("all alike", lambda: _job({}), "clear"),
    Case(
        "one is idle: another matter",
        lambda: _job({"utilization_percent": 0.0, "power_watts": 80.0}),
        "clear",
    ),
    Case("no job in common", lambda: _job({"sm_clock_megahertz": 900.0}, gpus=4, slurm_job=None), "clear"),
    Case("replicas of a server", lambda: _job({"power_watts": 200.0}, command="vllm serve m"), "clear"),
    Case("a reserved pool", lambda: vllm_idle(gpus=8).window, "clear"),
    Case("seen for six minutes", lambda: _job({"sm_clock_megahertz": 1200.0}, minutes=6), "unjudged"),
]
