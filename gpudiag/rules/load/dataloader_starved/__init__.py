"""Training works in bursts and starves in between: data comes too late."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import writes_checkpoint
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow


@rule(
    severity="warning",
    rank=INEFFICIENT,
    maturity="experimental",
    given=("working", "job"),
    also="low-util-under-load",
)
def dataloader_starved(
    gpu: GpuWindow,
    *,
    min_gap_share: float = 0.25,
    min_burst_percent: float = 80.0,
    min_mean_percent: float = 10.0,
    max_mean_percent: float = 70.0,
    min_loader_percent: float = 80.0,
    max_link_share: float = 0.25,
) -> Fires | None:
    """Training starves between steps: the GPU works in bursts."""
    training = next((p for p in gpu.processes if p.workload.kind == "training" or p.reading.ranks), None)
    if training is None:
        return None
    busy = gpu.over("utilization_percent", W5)
    if not min_mean_percent <= busy.mean <= max_mean_percent or busy.max < min_burst_percent:
        return None
    gpu.require(W5)
    gaps = gpu.share("quiet", W5)
    if gaps < min_gap_share or writes_checkpoint(training) or _talks(gpu, max_link_share):
        return None
    loaders = _loaders(training, min_loader_percent)
    if not loaders:
        return None
    hottest = max(loaders)
    return Fires(
        (
            measured("gap_ratio", round(gaps, 2), window=W5),
            measured("utilization_max_percent", round(busy.max), window=W5),
            measured("loader_cpu_percent", round(hottest), source="/proc"),
            measured("busy_loaders", len(loaders), source="/proc"),
        ),
        words={"process": training.reading.name or "-", "pid": str(training.reading.pid)},
    )


def _loaders(process: ProcessWindow, min_percent: float) -> list[float]:
    """CPU of the worker processes that are at their limit."""
    children = process.reading.children
    if children is None:
        raise NotMeasured("children")
    return [child.cpu_percent for child in children if (child.cpu_percent or 0.0) >= min_percent]  # type: ignore[misc]


def _talks(gpu: GpuWindow, max_share: float) -> bool:
    """Links are busy in the gaps: ranks exchange data, as in pipeline or gradient steps."""
    rate = gpu.reading.nvlink_bytes_per_second
    if rate is not None and gpu.over("nvlink_bytes_per_second", W5).mean > max_share * 400e9:
        return True
    ports = (gpu.node.latest.host.ports if gpu.node.latest and gpu.node.latest.host else None) or ()
    return any(
        port.bytes_per_second * 8 > max_share * port.rate_gigabits_per_second * 1e9
        for port in ports
        if port.bytes_per_second and port.rate_gigabits_per_second
    )
