"""Situations of prefix-cache-cold and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _cache(queries: float, hits: float, **engine: Any) -> Window:
    s = vllm_busy(minutes=0)
    s.serves(
        "vllm",
        prefix_queries_total=1.0,
        prefix_hits_total=0.0,
        **engine,
        rates={"prefix_queries_total": queries, "prefix_hits_total": hits},
    )
    return s.passes(minutes=6).window


CASES = [
    Case("one hit in two hundred", lambda: _cache(200.0, 1.0), "fires", severity="info", gpu=None),
    Case("half of it is reused", lambda: _cache(200.0, 100.0), "clear"),
    Case("hardly any traffic", lambda: _cache(1.0, 0.0), "clear"),
    Case("an engine without this counter", lambda: vllm_busy().window, "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("metrics cannot be read", lambda: _cache(200.0, 1.0, metrics_ok=False), "unjudged"),
]
