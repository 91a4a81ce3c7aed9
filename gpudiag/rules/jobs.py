"""Which GPUs of a node work together: the processes on them belong to one job."""

from __future__ import annotations

from gpudiag.model import ProcessReading
from gpudiag.window import GpuWindow

Job = tuple[str, str]


def job_of(process: ProcessReading) -> Job | None:
    """What its processes have in common: a Slurm job, a pod, a container, or the launcher above them."""
    if process.slurm_job:
        return "slurm", process.slurm_job
    if process.pod:
        return "pod", process.pod
    if process.container:
        return "container", process.container
    if process.ranks or len(process.gpus or ()) > 1:
        return "launcher", str(process.parent_pid)
    return None


def partners(gpu: GpuWindow) -> list[GpuWindow]:
    """The other GPUs of the node that a job of this GPU holds, by index."""
    jobs = {job for process in gpu.processes if (job := job_of(process.reading)) is not None}
    return [other for other in gpu.node.gpus_in_order() if other is not gpu and jobs & _jobs_on(other)]


def _jobs_on(gpu: GpuWindow) -> set[Job]:
    return {job for process in gpu.processes if (job := job_of(process.reading)) is not None}
