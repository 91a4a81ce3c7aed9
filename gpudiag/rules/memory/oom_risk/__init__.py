"""Little memory is free on a GPU whose program allocates as it goes."""

from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.rules.holders import GIB, working
from gpudiag.window import W2, W5, W30, GpuWindow
from gpudiag.workloads import POOLING_ENGINES


@rule(severity="warning", rank=MEMORY, given=("holding",))
def oom_risk(
    gpu: GpuWindow,
    *,
    min_free_share: float = 0.02,
    min_free_bytes: int = GIB,
    min_swing_share: float = 0.02,
) -> Fires | None:
    """The next large allocation may fail."""
    if gpu.reading.error or not gpu.present or gpu.reading.mig_mode:
        return None
    if any(_fills_by_design(process.workload) for process in working(gpu)):
        return None
    total = gpu.now("memory_total_bytes") - (gpu.reading.memory_reserved_bytes or 0)
    free = total - gpu.over("memory_used_bytes", W2).max  # the tightest moment: it breathes
    least = max(min_free_share * total, min(min_free_bytes, total / 8))
    if free >= least:
        return None
    gpu.require(W5)
    recent = gpu.over("memory_used_bytes", W5)
    span = W30 if gpu.covers(W30) else W5
    past = gpu.over("memory_used_bytes", span)
    if total - recent.mean >= least or past.max - past.min <= min_swing_share * total:
        return None  # a dip, or full and still: nothing grows
    return Fires(
        (
            calculated("memory_free_bytes", max(0, free), of=total, window=W2, source="NVML"),
            measured("swing_bytes", past.max - past.min, window=span),
        )
    )


def _fills_by_design(workload: object) -> bool:
    kind, engine = getattr(workload, "kind", None), getattr(workload, "engine", None)
    return kind == "framework" or (kind == "engine" and engine in POOLING_ENGINES)
