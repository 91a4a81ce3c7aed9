"""Situations of kv-pool-nearly-full and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _full(minutes: float = 6, **engine: Any) -> Window:
    s = vllm_busy(minutes=0)
    s.serves("vllm", **{"kv_used_ratio": 0.96, "requests_waiting": 12.0, **engine})
    return s.passes(minutes=minutes).window


def _unread() -> Window:
    s = vllm_busy(minutes=0)
    s.serves("vllm", metrics_ok=False)
    return s.passes(minutes=6).window


CASES = [
    Case("96 % in use and requests wait", _full, "fires", severity="warning", gpu=None),
    Case(
        "full, and nobody waits",
        lambda: _full(requests_waiting=0.0),
        "fires",
        severity="info",
        variant="efficient",
    ),
    Case(
        "full and sequences are thrown out",
        lambda: _full(requests_waiting=0.0, rates={"preemptions_total": 0.1}),
        "fires",
        severity="warning",
    ),
    Case("45 % in use", lambda: vllm_busy().window, "clear"),
    Case("the pool is reserved, not in use", lambda: vllm_idle().window, "clear"),
    Case("an engine without this gauge", lambda: _full(kv_used_ratio=None), "clear"),
    Case("watched for a minute", lambda: _full(minutes=1), "unjudged"),
    Case("its metrics cannot be read", _unread, "unjudged"),
]
