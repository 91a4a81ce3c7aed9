"""Situations of network-bound and its look-alikes."""

from typing import Any

from gpudiag.model import NetworkPort
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window

RANKS = {"RANK": "3", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}


def _port(rate: float, wait: float = 0.0) -> list[NetworkPort]:
    return [
        NetworkPort(
            name="mlx5_0",
            kind="infiniband",
            rate_gigabits_per_second=400,
            bytes_per_second=rate,
            wait_ratio=wait,
        )
    ]


def _job(ports: Any, power: float = 280.0, minutes: float = 6, ranks: Any = RANKS) -> Window:
    s = Situation(gpus=2).machine(ports=ports)
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=98.0, power_watts=power)
    for index in range(2):
        s.runs({index: 60 * GIB}, pid=5500 + index, name="python3", command="torchrun train.py", ranks=ranks)
    return s.passes(minutes=minutes).window


CASES = [
    Case(
        "the port is full and the GPUs wait", lambda: _job(_port(44e9)), "fires", severity="warning", gpu=None
    ),
    Case("the port waits to send", lambda: _job(_port(5e9, wait=0.3)), "fires"),
    Case("the GPUs work at full power", lambda: _job(_port(44e9), power=620.0), "clear"),
    Case("no traffic: stuck, not slow", lambda: _job(_port(0.0)), "clear"),
    Case(
        "a job of one node",
        lambda: _job(_port(44e9), ranks={"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}),
        "clear",
    ),
    Case("no job here", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("ports cannot be read", lambda: _job(None), "unjudged"),
    Case("seen for a minute", lambda: _job(_port(44e9), minutes=1), "unjudged"),
]
