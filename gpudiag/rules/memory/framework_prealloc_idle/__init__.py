"""JAX or TensorFlow took most of the memory at start, as it does by default."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.holders import flat, quiet_share, whose, working
from gpudiag.rules.sight import seen_seconds
from gpudiag.window import W5, W6H, GpuWindow

SHARES = {"jax": (0.70, 0.82), "tensorflow": (0.85, 1.0)}
"""What each takes at start, as a share of the total: JAX 75 % by default, TensorFlow nearly all."""


@rule(
    severity="ok",
    rank=STATE,
    given=("idle", "holding", "job"),
    explains=("memory-held-idle", "oom-risk"),
)
def framework_prealloc_idle(
    gpu: GpuWindow, *, min_quiet_share: float = 0.95, worked_percent: float = 20.0
) -> Fires | None:
    """JAX or TensorFlow preallocated most of the memory and nothing runs."""
    found = working(gpu)
    if not found or found[0].workload.kind != "framework":
        return None
    process = found[0]
    memory, total = process.memory_on(gpu.index), gpu.now("memory_total_bytes")
    held = gpu.now("memory_used_bytes") if memory is None else memory
    framework = next((f for f in SHARES if f in (process.reading.frameworks or ())), None)
    if framework is None or not _took_its_share(framework, held / total):
        return None
    quiet = quiet_share(gpu)
    if quiet < min_quiet_share or not flat(gpu):
        return None
    span = seen_seconds(gpu)
    evidence = (
        measured("process_memory_bytes", held, of=total, window=span),
        measured("quiet_ratio", quiet, window=span),
    )
    words = {
        "framework": {"jax": "JAX", "tensorflow": "TensorFlow"}[framework],
        **whose(process),
    }
    if not gpu.covers(W5):
        return Fires(evidence, severity="info", confidence="possible", words=words)
    best = gpu.over("utilization_percent", W6H).max
    if best >= worked_percent:  # it worked, and stopped: done, or waiting for something
        worked = measured("best_percent", round(best), window=W6H)
        return Fires((*evidence, worked), severity="info", variant="worked-before", words=words)
    if "torch" in (process.reading.frameworks or ()):  # it may be the one that holds it
        return Fires(evidence, severity="info", confidence="possible", words=words)
    return Fires(evidence, words=words)


def _took_its_share(framework: str, share: float) -> bool:
    low, high = SHARES[framework]
    return low <= share <= high
