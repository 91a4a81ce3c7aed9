"""A process that was not expected uses this GPU."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from gpudiag.rule import MEMORY, Fires, measured, rule
from gpudiag.rules.holders import name, whose, working
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow


@rule(severity="info", rank=MEMORY, given=("process",), explains=("memory-held-idle",))
def unknown_process(gpu: GpuWindow, *, min_unnamed_bytes: int = 256 << 20) -> Iterator[Fires]:
    """A process outside the expected workload uses this GPU."""
    found = working(gpu)
    if not found:
        return
    if gpu.node.pasted:
        for process in found:
            if process.reading.hidden and (process.memory_on(gpu.index) or 0) >= min_unnamed_bytes:
                yield _fires(gpu, process, "unnamed")
        return
    if gpu.node.workloads_declared:
        for process in found:
            if not _allowed(process, gpu.node.allowed_workloads):
                yield _fires(gpu, process, None)
    elif len(found) > 1:
        jobs = {_job(process) for process in found}
        jobs.discard(None)
        shared = (gpu.node.latest.labels or {}).get("gpu_sharing") if gpu.node.latest else None
        if len(jobs) > 1 and not shared and not gpu.reading.mig_mode:
            yield _fires(gpu, found[-1], "two-jobs", by_pods=all(p.reading.pod for p in found if _job(p)))
    elif found[0].reading.hidden and not found[0].reading.name:
        raise NotMeasured("processes", reason="no_permission")


def _allowed(process: ProcessWindow, patterns: tuple[str, ...]) -> bool:
    """Patterns match a name, a command, a user, a unit, `slurm:ID` or `NAMESPACE/POD`."""
    reading = process.reading
    texts = [
        reading.name,
        reading.command,
        reading.user,
        reading.unit,
        reading.slurm_job and f"slurm:{reading.slurm_job}",
        reading.pod and f"{reading.namespace or 'default'}/{reading.pod}",
    ]
    return any(text and fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def _job(process: ProcessWindow) -> str | None:
    reading = process.reading
    return reading.slurm_job or (reading.pod and f"{reading.namespace}/{reading.pod}")


def _fires(gpu: GpuWindow, process: ProcessWindow, variant: str | None, *, by_pods: bool = False) -> Fires:
    """Kubernetes gives a GPU to two pods only where somebody set up sharing: that is no surprise."""
    memory = process.memory_on(gpu.index)
    return Fires(
        (measured("process_memory_bytes", memory or 0, of=gpu.reading.memory_total_bytes, window=None),)
        if memory is not None
        else (measured("process", name(process), source="/proc"),),
        severity="warning" if variant == "two-jobs" and not by_pods else None,
        confidence="likely" if gpu.covers(W5) else "possible",
        variant=variant,
        words=whose(process),
        key=f"pid:{process.reading.pid}:{process.reading.started_at or 0:.0f}",
    )
