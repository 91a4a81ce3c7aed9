"""Which GPUs of which nodes work for the same job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from gpudiag.window import GpuWindow, ProcessWindow, Window


def job_of(process: ProcessWindow) -> str | None:
    """The job that a process belongs to, the same on every node; None for servers and single programs."""
    reading = process.reading
    if not reading.slurm_job and not reading.ranks:
        return None
    if process.workload.kind in ("engine", "desktop", "monitor"):
        return None
    if reading.slurm_job:
        return f"Slurm job {reading.slurm_job}"
    ranks = reading.ranks or {}
    address = ranks.get("MASTER_ADDR")
    return f"job at {address}:{ranks.get('MASTER_PORT', '')}" if address else None


def gpus_by_job(windows: Iterable[Window]) -> dict[str, list[GpuWindow]]:
    """GPUs that the processes of each job use."""
    jobs: dict[str, list[GpuWindow]] = defaultdict(list)
    for window in windows:
        at_work = [(job, p) for p in window.processes.values() if (job := job_of(p)) is not None]
        by_index = {gpu.index: gpu for gpu in window.gpus.values()} if at_work else {}
        for job, process in at_work:
            for use in process.reading.gpus or ():
                gpu = by_index.get(use.gpu)
                if gpu is not None and gpu not in jobs[job]:
                    jobs[job].append(gpu)
    return jobs


def distance(value: float, others: list[float]) -> float:
    """How far a value lies from the median of its group, in robust standard deviations."""
    middle = median(others)
    spread = 1.4826 * median(abs(other - middle) for other in others)
    return (value - middle) / max(spread, 0.01 * abs(middle), 1e-9)
