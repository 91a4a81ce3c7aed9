"""Situations of small-batch and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, starved_server, vllm_busy, vllm_idle, vllm_processes
from gpudiag.window import Window


def _decoding(**gpu: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(
        **{"memory_used_bytes": 75 * GIB, "utilization_percent": 92.0, "power_watts": 240.0, **gpu}
    )
    vllm_processes(s)
    s.serves(
        "vllm",
        pid=4100,
        worker_pids=[4121],
        gpus=[0],
        requests_running=2.0,
        max_num_seqs=256,
        rates={"generation_tokens_total": 120.0},
    )
    return s.passes(minutes=6).window


CASES = [
    Case(
        "two requests at a time, utilization low",
        lambda: starved_server(requests_running=2.0, requests_waiting=0.0, max_num_seqs=256).window,
        "fires",
        severity="warning",
    ),
    Case(
        "two requests at a time, units idle", lambda: _decoding(sm_active_ratio=0.2), "fires", severity="info"
    ),
    Case(
        "requests wait: something else is the limit",
        lambda: starved_server(requests_running=2.0, requests_waiting=9.0).window,
        "clear",
    ),
    Case("few requests, but the units are full", lambda: _decoding(sm_active_ratio=0.8), "clear"),
    Case("many requests", lambda: vllm_busy().window, "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("busy, and the units cannot be looked at", _decoding, "unjudged"),
]
