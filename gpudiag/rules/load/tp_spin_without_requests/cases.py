"""Situations of tp-spin-without-requests and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _spins(minutes: float = 6, power: float = 130.0, gpus: int = 2, **engine: Any) -> Window:
    s = vllm_idle(gpus=gpus, minutes=0)
    s.all_gpus(utilization_percent=100.0, power_watts=power)
    s.serves("vllm", **engine)
    return s.passes(minutes=minutes).window


CASES = [
    Case("two workers spin without requests", _spins, "fires", severity="info", gpu=None),
    Case("requests are there", lambda: _spins(requests_running=2.0), "clear"),
    Case("they draw the power of work", lambda: _spins(power=520.0), "clear"),
    Case("a pool at rest", lambda: vllm_idle(gpus=2).window, "clear"),
    Case("one GPU has no group to wait for", lambda: _spins(gpus=1), "clear"),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("metrics cannot be read", lambda: _spins(metrics_ok=False), "unjudged"),
    Case("seen for a minute", lambda: _spins(minutes=1), "unjudged"),
]
