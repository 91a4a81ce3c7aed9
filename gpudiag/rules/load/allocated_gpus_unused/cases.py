"""Situations of allocated-gpus-unused and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _job(
    busy: tuple[int, ...], minutes: float = 35, command: str = "python3 train.py", **process: Any
) -> Window:
    s = Situation(gpus=4)
    for index in range(4):
        s.gpu(index).shows(memory_used_bytes=2 * GIB, utilization_percent=95.0 if index in busy else 0.0)
    s.runs(
        dict.fromkeys(range(4), 2 * GIB), name="python3", command=command, **{"slurm_job": "4711", **process}
    )
    return s.passes(minutes=minutes).window


CASES = [
    Case("four held, one used", lambda: _job(busy=(0,)), "fires", severity="info", gpu=None),
    Case("all work", lambda: _job(busy=(0, 1, 2, 3)), "clear"),
    Case("none works: idle, not half used", lambda: _job(busy=()), "clear"),
    Case("replicas of a server", lambda: _job(busy=(0,), command="vllm serve m"), "clear"),
    Case("no job, no allocation", lambda: _job(busy=(0,), slurm_job=None), "clear"),
    Case("for six minutes so far", lambda: _job(busy=(0,), minutes=6), "unjudged"),
]
