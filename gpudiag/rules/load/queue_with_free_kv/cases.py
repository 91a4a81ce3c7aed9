"""Situations of queue-with-free-kv and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _limited(minutes: float = 6, **engine: Any) -> Window:
    s = vllm_busy(minutes=0)
    known = {"requests_running": 32.0, "max_num_seqs": 32, "requests_waiting": 20.0, "kv_used_ratio": 0.3}
    s.serves("vllm", **{**known, **engine})
    return s.passes(minutes=minutes).window


CASES = [
    Case("32 run, 32 may, 20 wait, the pool is a third full", _limited, "fires", severity="info", gpu=None),
    Case("the pool is nearly full", lambda: _limited(kv_used_ratio=0.93), "clear"),
    Case("fewer run than may", lambda: _limited(requests_running=20.0), "clear"),
    Case("they wait for something else", lambda: _limited(waiting_reason="deferred"), "clear"),
    Case("nobody waits", lambda: vllm_busy().window, "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("seen for a minute", lambda: _limited(minutes=1), "unjudged"),
    Case("metrics cannot be read", lambda: _limited(metrics_ok=False), "unjudged"),
]
