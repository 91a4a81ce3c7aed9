"""Situations of numa-misplaced and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window

NEAR, FAR = list(range(32)), list(range(32, 64))


def _job(allowed: list[int] | None, nodes: int | None = 2, minutes: float = 6, **gpu: Any) -> Window:
    s = Situation().machine(numa_nodes=nodes)
    known = {
        "cpu_affinity": NEAR,
        "numa_node": 0,
        "pcie_rx_bytes_per_second": 20e9,
        "utilization_percent": 80.0,
    }
    s.gpu(0).shows(**{**known, "memory_used_bytes": 20 * GIB, **gpu})
    s.runs({0: 20 * GIB}, name="python3", command="torchrun train.py", cpus_allowed=allowed)
    return s.passes(minutes=minutes).window


CASES = [
    Case("bound to the other socket, and it copies much", lambda: _job(FAR), "fires", severity="info"),
    Case("bound to the near socket", lambda: _job(NEAR), "clear"),
    Case("free to run anywhere", lambda: _job(NEAR + FAR), "clear"),
    Case("far, but it copies nothing", lambda: _job(FAR, pcie_rx_bytes_per_second=0.0), "clear"),
    Case("one socket", lambda: _job(FAR, nodes=1), "clear"),
    Case("the number of sockets is not known", lambda: _job(FAR, nodes=None), "unjudged"),
]
