"""A process that was not expected uses this GPU."""

from fnmatch import fnmatchcase

from gpudiag.rule import MEMORY, Fires, measured, rule
from gpudiag.rules.holders import name, whose, working
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow


@rule(severity="info", rank=MEMORY, given=("process",), explains=("memory-held-idle",))
def unknown_process(gpu: GpuWindow, *, min_unnamed_bytes: int = 256 << 20) -> list[Fires] | Fires | None:
    """A process outside the expected workload uses this GPU."""
    found, node = working(gpu), gpu.node
    if not found:
        return None
    if node.pasted:
        hidden = [p for p in found if p.reading.hidden]
        unnamed = [p for p in hidden if (p.memory_on(gpu.index) or 0) >= min_unnamed_bytes]
        return [_fires(gpu, process, "unnamed") for process in unnamed]
    if node.workloads_declared:
        others = [p for p in found if not _allowed(p, node.allowed_workloads)]
        return [_fires(gpu, process, None) for process in others]
    if len(found) > 1:
        return _two_jobs(gpu, found)
    if found[0].reading.hidden and not found[0].reading.name:
        raise NotMeasured("processes", reason="no_permission")
    return None


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


def _two_jobs(gpu: GpuWindow, found: list[ProcessWindow]) -> Fires | None:
    """Two schedulers' jobs share it, and nobody said that they may."""
    jobs = {_job(process) for process in found}
    jobs.discard(None)
    shared = (gpu.node.latest.labels or {}).get("gpu_sharing") if gpu.node.latest else None
    if len(jobs) < 2 or shared or gpu.reading.mig_mode:
        return None
    return _fires(gpu, found[-1], "two-jobs", by_pods=all(p.reading.pod for p in found if _job(p)))


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
