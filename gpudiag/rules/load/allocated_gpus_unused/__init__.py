"""A job holds several GPUs and works on only some of them."""

from collections import defaultdict
from collections.abc import Iterator

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import W30, GpuWindow, Window


@rule(severity="info", rank=INEFFICIENT)
def allocated_gpus_unused(
    node: Window, *, min_quiet_share: float = 0.99, min_busy_percent: float = 20.0
) -> Iterator[Fires]:
    """A job holds several GPUs but uses only some."""
    jobs: dict[str, set[int]] = defaultdict(set)
    pids: dict[str, int] = {}
    for process in node.processes.values():
        reading = process.reading
        job = reading.slurm_job or reading.pod or reading.container
        if not job or process.workload.kind in ("engine", "desktop", "monitor"):
            continue
        held = {use.gpu for use in reading.gpus or ()} | set(reading.open_devices or ())
        called = f"Slurm job {job}" if reading.slurm_job else f"pod {job}" if reading.pod else job
        jobs[called] |= held
        pids.setdefault(called, reading.pid)
    for job, indexes in jobs.items():
        gpus = [gpu for gpu in node.gpus_in_order() if gpu.index in indexes]
        if len(gpus) < 2:
            continue
        busy = [g for g in gpus if g.over("utilization_percent", W30).mean >= min_busy_percent]
        idle = [g for g in gpus if _unused(g, min_quiet_share)]
        if not busy or not idle:
            continue
        node.require(W30)
        yield _fires(job, pids[job], gpus, idle)


def _unused(gpu: GpuWindow, min_quiet_share: float) -> bool:
    return gpu.share("quiet", W30) >= min_quiet_share


def _fires(job: str, pid: int, gpus: list[GpuWindow], idle: list[GpuWindow]) -> Fires:
    return Fires(
        (
            measured("gpus_held", len(gpus)),
            measured("gpus_unused", len(idle), window=W30),
            measured("quiet_ratio", min(g.share("quiet", W30) for g in idle), window=W30),
        ),
        key=job,
        words={
            "job": job,
            "pid": str(pid),
            "unused": ", ".join(str(gpu.index) for gpu in idle),
            "gpus": [gpu.index for gpu in gpus],
        },
    )
