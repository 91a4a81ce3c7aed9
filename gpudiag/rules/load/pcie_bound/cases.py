"""Situations of pcie-bound and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _copies(minutes: float = 6, **gpu: Any) -> Window:
    s = Situation()
    known = {"memory_used_bytes": 60 * GIB, "utilization_percent": 35.0, "pcie_rx_bytes_per_second": 46e9}
    s.gpu(0).shows(**{**known, **gpu})
    s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=minutes).window


CASES = [
    Case("46 GB/s over a link of 53", _copies, "fires", severity="warning"),
    Case(
        "the other way",
        lambda: _copies(pcie_rx_bytes_per_second=0.0, pcie_tx_bytes_per_second=44e9),
        "fires",
        variant="to-host",
    ),
    Case("the GPU is busy meanwhile", lambda: _copies(utilization_percent=95.0), "clear"),
    Case("copies with room left", lambda: _copies(pcie_rx_bytes_per_second=12e9), "clear"),
    Case("a reserved pool", lambda: vllm_idle().window, "clear"),
    Case(
        "traffic cannot be read",
        lambda: _copies(pcie_rx_bytes_per_second=None, pcie_tx_bytes_per_second=None),
        "unjudged",
    ),
    Case("seen for a minute", lambda: _copies(minutes=1), "unjudged"),
]
