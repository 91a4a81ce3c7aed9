"""Situations of dataloader-starved and its look-alikes."""

from typing import Any

from gpudiag.model import NetworkPort, ThreadReading
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_busy
from gpudiag.window import Window

BURSTS = [0.0, 0.0, 0.0, 97.0, 98.0]
BUSY_LOADERS = [ThreadReading(tid=i, name="pt_data_worker", cpu_percent=99.0) for i in range(3)]


def _trains(
    utilization: Any = BURSTS,
    children: Any = BUSY_LOADERS,
    minutes: float = 6,
    ports: Any = None,
    **process: Any,
) -> Window:
    s = Situation().machine(ports=ports)
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=utilization)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py", children=children, **process)
    return s.passes(minutes=minutes).window


NETWORK = [NetworkPort(name="mlx5_0", kind="infiniband", rate_gigabits_per_second=400, bytes_per_second=30e9)]

CASES = [
    Case("bursts, and the loaders are at their limit", _trains, "fires", severity="warning"),
    Case("steady work", lambda: _trains(utilization=96.0), "clear"),
    Case(
        "gaps, and loaders that rest",
        lambda: _trains(children=[ThreadReading(tid=1, cpu_percent=5.0)]),
        "clear",
    ),
    Case("ranks talk in the gaps", lambda: _trains(ports=NETWORK), "clear"),
    Case(
        "a checkpoint is written",
        lambda: _trains(write_bytes_per_second=2e9, read_bytes_per_second=0.0),
        "clear",
    ),
    Case("a server under load", lambda: vllm_busy().window, "clear"),
    Case("child processes cannot be read", lambda: _trains(children=None), "unjudged"),
    Case("seen for a minute", lambda: _trains(minutes=1), "unjudged"),
]
