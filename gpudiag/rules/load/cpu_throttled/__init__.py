"""The CPU quota of the container stops the threads that feed the GPU."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import fed_too_late, feeders, low_utilization
from gpudiag.window import W5, GpuWindow, NotMeasured


@rule(
    severity="warning",
    rank=INEFFICIENT,
    given=("loaded", "underused"),
    also="low-util-under-load",
    explains=("cpu-saturated",),
)
def cpu_throttled(gpu: GpuWindow, *, min_throttled_ratio: float = 0.10) -> Fires | None:
    """The container's CPU quota throttles the threads that feed the GPU."""
    load = fed_too_late(gpu)
    if load is None:
        return None
    fed = feeders(gpu, load)
    read = [p for p in fed if p.reading.cpu_quota_throttled_ratio is not None]
    if not read:
        if any(p.reading.container or p.reading.pod or p.reading.slurm_job for p in fed):
            raise NotMeasured("cpu_quota_throttled_ratio")
        return None  # no group, no quota
    process = max(read, key=lambda p: p.over("cpu_quota_throttled_ratio", W5).mean)
    share = process.over("cpu_quota_throttled_ratio", W5).mean
    if share < min_throttled_ratio:
        return None
    reading = process.reading
    return Fires(
        (
            measured("throttled_ratio", round(share, 3), window=W5, source="cgroup cpu.stat"),
            low_utilization(gpu),
            *load.evidence,
        ),
        confidence="proven",
        words={
            "process": reading.name or "-",
            "pid": str(reading.pid),
            "where": reading.pod or reading.container or reading.slurm_job or reading.unit or "-",
        },
    )
