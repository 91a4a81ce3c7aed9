"""A process's GPU memory grows steadily and will fill the card."""

from itertools import pairwise

from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.rules.holders import whose, working
from gpudiag.window import W30, GpuWindow, ProcessWindow
from gpudiag.workloads import POOLING_ENGINES


@rule(severity="warning", rank=MEMORY, maturity="experimental", given=("holding", "process"))
def memory_growing(
    gpu: GpuWindow,
    *,
    min_growth_share: float = 0.05,
    min_rising_share: float = 0.70,
    start_up_seconds: float = 600.0,
    warn_seconds: float = 86_400.0,
    critical_seconds: float = 3600.0,
) -> Fires | None:
    """GPU memory grows steadily."""
    for process in working(gpu):
        started = process.reading.started_at
        if process.workload.engine in POOLING_ENGINES or process.memory_on(gpu.index) is None:
            continue
        if started is not None and gpu.node.time - started < W30 + start_up_seconds:
            continue
        total = gpu.now("memory_total_bytes")
        past = process.over("memory_used_bytes", W30)
        if past.last - past.first < min_growth_share * total:
            continue
        process.require(W30)
        points = process.track.series("memory_used_bytes", W30)
        if _rising(points) < min_rising_share:
            continue
        slope = _slope(points)
        left = total - (gpu.reading.memory_reserved_bytes or 0) - gpu.now("memory_used_bytes")
        full_in = max(0.0, left) / slope if slope > 0 else warn_seconds
        if full_in < warn_seconds:
            return _fires(process, past.last - past.first, full_in, full_in < critical_seconds)
    return None


def _rising(points: list[tuple[float, float]]) -> float:
    """Share of the steps that do not fall."""
    steps = [later >= earlier for (_, earlier), (_, later) in pairwise(points)]
    return sum(steps) / len(steps) if steps else 0.0


def _slope(points: list[tuple[float, float]]) -> float:
    """Bytes a second: the median of the slopes between all pairs (Theil and Sen)."""
    slopes = sorted(
        (v2 - v1) / (t2 - t1) for i, (t1, v1) in enumerate(points) for t2, v2 in points[i + 1 :] if t2 > t1
    )
    return slopes[len(slopes) // 2] if slopes else 0.0


def _fires(process: ProcessWindow, growth: float, full_in: float, soon: bool) -> Fires:
    return Fires(
        (
            measured("growth_bytes", growth, window=W30),
            calculated("full_in_seconds", round(full_in)),
        ),
        severity="critical" if soon else "warning",
        words=whose(process),
        key=f"pid:{process.reading.pid}:{process.reading.started_at or 0:.0f}",
    )
