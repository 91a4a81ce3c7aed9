"""Linux ended a process that used a GPU, because host memory ran out."""

from collections.abc import Iterator

from gpudiag.model import KernelEvent, ProcessReading
from gpudiag.rule import MEMORY, Fires, measured, rule
from gpudiag.window import ProcessWindow, Window
from gpudiag.workloads import workload_of


@rule(severity="critical", rank=MEMORY, confidence="proven", latched=True)
def host_oom_kill(node: Window, *, max_age_seconds: float = 3600.0) -> Iterator[Fires]:
    """Linux killed a GPU process because host RAM ran out."""
    for event in node.recent_events(max_age_seconds, "oom_kill"):
        victim = _victim(node, event)
        if victim is None and node.pasted and _may_compute(event):
            yield _of_a_line(event)
        if victim is None:
            continue
        gpus = [use.gpu for use in victim.reading.gpus or ()]
        reading = victim.reading
        where = (
            reading.pod or (f"Slurm job {reading.slurm_job}" if reading.slurm_job else None) or reading.unit
        )
        yield Fires(
            (
                measured("kernel_line", event.text, source="kernel log"),
                measured("killed_pid", str(event.pid), source="kernel log"),
            ),
            key=f"oom:{event.pid}:{event.at or 0:.0f}",
            gpu=gpus[0] if len(gpus) == 1 else None,
            since=event.at,
            words={
                "process": reading.name or event.process or "-",
                "pid": str(event.pid),
                "where": where or reading.user or "-",
            },
        )


def _victim(node: Window, event: KernelEvent) -> ProcessWindow | None:
    """The process with a GPU that the line names; others are not our concern."""
    known = [*node.departed, *node.processes.values()]
    return next((p for p in known if p.reading.pid == event.pid and p.reading.gpus), None)


def _may_compute(event: KernelEvent) -> bool:
    """Whether a program of this name most often uses GPUs where somebody asks about them."""
    kind = workload_of(ProcessReading(pid=event.pid or 0, name=event.process)).kind
    return kind in ("engine", "training", "notebook", "framework", "python")


def _of_a_line(event: KernelEvent) -> Fires:
    """What a pasted log alone tells: that it was killed, and not whether it used a GPU."""
    return Fires(
        (
            measured("kernel_line", event.text, source="kernel log"),
            measured("killed_pid", str(event.pid), source="kernel log"),
        ),
        severity="warning",
        confidence="possible",
        key=f"oom:{event.pid}:{event.at or 0:.0f}",
        variant="line",
        since=event.at,
        words={"process": event.process or "-", "pid": str(event.pid)},
    )
