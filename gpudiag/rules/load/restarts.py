"""Programs that end soon and are started again: how often, and how long they lived."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from gpudiag.window import GpuWindow, ProcessWindow
from gpudiag.workloads import ADOPTERS, workload_of_text

SUPERVISORS = ADOPTERS - {
    *("bash", "sh", "zsh", "fish", "dash", "tmux", "screen", "sshd"),  # a person may be there
    *("slurmstepd", "raylet", "pause"),
}
LOG = "journalctl -u UNIT -n 200"  # where nobody knows who keeps the log
TOGETHER_SECONDS = 20.0  # processes of one program start so close to each other


def ended_young(gpu: GpuWindow, within: float, max_life: float) -> list[ProcessWindow]:
    """Processes of this GPU that ended within so many seconds and had lived for no longer than `max_life`."""
    return [
        process
        for process in gpu.node.departed
        if gpu.index in process.gpus
        and gpu.node.time - process.last_seen <= within
        and life(process) <= max_life
    ]


def life(process: ProcessWindow) -> float:
    """Seconds from its start until it was last seen."""
    started = process.reading.started_at
    return process.last_seen - (process.first_seen if started is None else started)


def starts(processes: Iterable[ProcessWindow]) -> int:
    """How often they began: those of one program begin together."""
    moments = sorted(process.last_seen - life(process) for process in processes)
    return 1 + sum(later - one > TOGETHER_SECONDS for one, later in pairwise(moments))


def started_anew(before: ProcessWindow, now: ProcessWindow) -> bool:
    """Whether a supervisor started it because the run before had ended: an init, or Kubernetes.

    What another program starts by turns, as a proxy does with models, is no restart.
    """
    a, b = before.reading, now.reading
    if (a.command or a.name) != (b.command or b.name) or (a.pod, a.unit) != (b.pod, b.unit):
        return False
    if in_another_container(before, now):
        return True
    names = (name.rsplit("/", 1)[-1] for name in b.parents or [b.parent_name or ""])
    return next((name for name in names if workload_of_text(name).kind != "engine"), "") in SUPERVISORS


def in_another_container(before: ProcessWindow, now: ProcessWindow) -> bool:
    """Whether Kubernetes started the container of its pod again."""
    a, b = before.reading, now.reading
    same_pod = b.pod is not None and (a.pod, a.namespace) == (b.pod, b.namespace)
    return same_pod and None not in (a.container, b.container) and a.container != b.container
