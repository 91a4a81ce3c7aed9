"""Situations of queue-building and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _queue(
    first: int = 2, step: int = 3, minutes: int = 6, utilization: float = 95.0, **engine: Any
) -> Window:
    s = vllm_busy(minutes=0)
    s.gpu(0).shows(utilization_percent=utilization)
    for i in range(minutes * 6):
        s.serves("vllm", **{"requests_waiting": float(first + step * i), "max_num_seqs": 24, **engine})
        s.passes(seconds=10)
    return s.window


def _fewer_run_than_before() -> Window:
    s = vllm_busy(minutes=0)
    s.serves("vllm", requests_running=200.0)
    s.passes(minutes=20)
    for i in range(36):
        s.serves("vllm", requests_running=24.0, requests_waiting=2.0 + 3 * i)
        s.passes(seconds=10)
    return s.window


def _nothing_ends() -> Window:
    s = vllm_busy(minutes=0)
    s.rates = {}
    for i in range(36):
        s.serves("vllm", requests_waiting=2.0 + 3 * i, max_num_seqs=24, generation_tokens_total=None)
        s.passes(seconds=10)
    return s.window


def _up_and_down() -> Window:
    s = vllm_busy(minutes=0)
    for waiting in [1, 5, 2, 6, 1, 4, 3, 6, 2] * 4:
        s.serves("vllm", requests_waiting=float(waiting), max_num_seqs=24)
        s.passes(seconds=10)
    s.serves("vllm", requests_waiting=6.0)
    return s.reports().window


CASES = [
    Case("more wait every minute", _queue, "fires", severity="warning", gpu=None),
    Case("the queue goes up and down", _up_and_down, "clear"),
    Case("they wait for a transfer", lambda: _queue(waiting_reason="deferred"), "clear"),
    Case("the queue gets shorter", lambda: _queue(first=300, step=-5), "clear"),
    Case("no request ends, and tokens are not counted", _nothing_ends, "clear"),
    Case("nobody waits", lambda: vllm_busy().window, "clear"),
    Case("the GPU idles meanwhile", lambda: _queue(utilization=20.0), "clear"),
    Case("the pool is the limit", lambda: _queue(kv_used_ratio=0.97), "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("seen for a minute", lambda: _queue(minutes=1), "unjudged"),
    Case("metrics cannot be read", lambda: _queue(metrics_ok=False), "unjudged"),
    Case("it ran eight times as many an hour ago", _fewer_run_than_before, "clear"),
]
