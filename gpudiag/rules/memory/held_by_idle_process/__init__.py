"""A process has held the GPU for hours and used it for nothing."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.holders import whose, working
from gpudiag.window import W6H, W24H, GpuWindow


@rule(
    severity="info",
    rank=INEFFICIENT,
    given=("idle", "holding", "job"),
    explains=("memory-held-idle",),
)
def held_by_idle_process(
    gpu: GpuWindow, *, min_held_share: float = 0.05, min_quiet_share: float = 0.99
) -> Fires | None:
    """A process has held this GPU unused for hours."""
    found = working(gpu)
    if not found or gpu.node.pasted:
        return None
    process = found[0]
    started, now = process.reading.started_at, gpu.node.time
    memory, total = process.memory_on(gpu.index), gpu.now("memory_total_bytes")
    if (started is not None and now - started < W6H) or (memory or 0) < min_held_share * total:
        return None
    gpu.require(W6H)
    quiet = gpu.share("quiet", W6H)
    if quiet < min_quiet_share:
        return None
    day = gpu.covers(W24H) and gpu.share("quiet", W24H) >= min_quiet_share
    span = W24H if day else W6H
    return Fires(
        (
            measured("process_memory_bytes", memory, of=total),
            measured("quiet_ratio", gpu.share("quiet", span), window=span),
        ),
        severity="warning" if day else "info",
        variant="stopped" if process.reading.state == "T" else None,
        words=whose(process),
        key=f"pid:{process.reading.pid}:{started or 0:.0f}",
    )
