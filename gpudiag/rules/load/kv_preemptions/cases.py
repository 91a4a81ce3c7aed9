"""Situations of kv-preemptions and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _preempts(per_second: float, minutes: float = 6, quiet_minutes: float = 0, **engine: Any) -> Window:
    s = vllm_busy(minutes=2)
    s.serves("vllm", kv_used_ratio=0.99, rates={"preemptions_total": per_second}, **engine)
    s.passes(minutes=minutes)
    s.serves("vllm", rates={"preemptions_total": 0.0})
    return s.passes(minutes=quiet_minutes).window


CASES = [
    Case(
        "every ten seconds",
        lambda: _preempts(0.1),
        "fires",
        severity="warning",
        confidence="proven",
        gpu=None,
    ),
    Case("one burst four minutes ago", lambda: _preempts(0.2, minutes=0.5, quiet_minutes=4), "clear"),
    Case("no preemption", lambda: vllm_busy().window, "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("metrics cannot be read", lambda: _preempts(0.1, metrics_ok=False), "unjudged"),
]
