"""Situations of bar1-nearly-full and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _bar1(used: int, total: int, peermem: bool = True, **gpu: Any) -> Window:
    s = Situation().machine(modules=["nvidia", *(["nvidia_peermem"] if peermem else [])])
    s.gpu(0).shows(bar1_used_bytes=used, bar1_total_bytes=total, **gpu)
    s.runs({0: GIB}, name="python3")
    return s.passes(minutes=2).window


CASES = [
    Case("246 of 256 MiB", lambda: _bar1(246 << 20, 256 << 20), "fires", severity="info"),
    Case("a large BAR maps everything", lambda: _bar1(127 * GIB, 128 * GIB), "clear"),
    Case("nobody uses GPUDirect", lambda: _bar1(246 << 20, 256 << 20, peermem=False), "clear"),
    Case("room is left", lambda: _bar1(20 << 20, 256 << 20), "clear"),
    Case("the total is not known", lambda: _bar1(246 << 20, 256 << 20, memory_total_bytes=None), "unjudged"),
]
