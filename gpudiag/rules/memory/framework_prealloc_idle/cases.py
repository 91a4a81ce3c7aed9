"""Situations of framework-prealloc-idle and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _holds(gib: int, minutes: float = 6, **process: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=gib * GIB)
    s.runs({0: gib * GIB}, pid=5200, name="python3", command="python3 fit.py", **process)
    return s.passes(minutes=minutes).window


def _growing() -> Window:
    s = Situation()
    process = s.runs({0: 55 * GIB}, pid=5200, name="python3", command="python3 fit.py", frameworks=["jax"])
    for gib in range(55, 63):
        s.gpu(0).shows(memory_used_bytes=gib * GIB)
        process.gpus[0].memory_used_bytes = gib * GIB  # type: ignore[index]
        s.passes(seconds=40)
    return s.window


def _worked_before() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=90.0)
    s.runs({0: 60 * GIB}, pid=5200, name="python3", command="python3 fit.py", frameworks=["jax"])
    s.passes(minutes=20)
    s.gpu(0).shows(utilization_percent=0.0)
    return s.passes(minutes=8).window


def _no_utilization() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB).hides("utilization_percent")
    s.runs({0: 60 * GIB}, name="python3", command="python3 fit.py", frameworks=["jax"])
    return s.passes(minutes=6).window


CASES = [
    Case(
        "JAX holds 75 %", lambda: _holds(60, frameworks=["jax"]), "fires", severity="ok", confidence="likely"
    ),
    Case("TensorFlow holds nearly all", lambda: _holds(76, frameworks=["tensorflow"]), "fires"),
    Case(
        "a look of half a minute",
        lambda: _holds(60, 0.5, frameworks=["jax"]),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case(
        "JAX and PyTorch are both loaded, and either may hold it",
        lambda: _holds(60, frameworks=["jax", "torch"]),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case("PyTorch holds as much", lambda: _holds(60, frameworks=["torch"]), "clear"),
    Case("JAX without preallocation grows", _growing, "clear"),
    Case("a reserved pool of an engine", lambda: vllm_idle().window, "clear"),
    Case("utilization cannot be read", _no_utilization, "unjudged"),
    Case(
        "it worked an hour ago and stopped", _worked_before, "fires", severity="info", variant="worked-before"
    ),
]
