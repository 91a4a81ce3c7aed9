"""Who holds the memory of a GPU, and whether nothing runs on it."""

from __future__ import annotations

from typing import Any

from gpudiag.owners import owner_of, ownership
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow
from gpudiag.workloads import AT_REST

GIB = 1 << 30


def working(gpu: GpuWindow) -> list[ProcessWindow]:
    """Processes that are neither the desktop nor a monitor, the largest first."""
    return gpu.users.at_work


def quiet_share(gpu: GpuWindow) -> float:
    """Share of the last five minutes in which nothing ran; raises NotMeasured."""
    return gpu.share("quiet", W5)


def only_probed(gpu: GpuWindow, span: float, max_percent: float) -> bool:
    """Hardly anything runs, and nobody but engines is there: a health check may generate a token."""
    pids = {pid for engine in gpu.engines for pid in engine.pids}
    alone = all(process.reading.pid in pids for process in working(gpu))
    return alone and gpu.over("utilization_percent", span).mean <= max_percent


def flat(gpu: GpuWindow, max_change_share: float = 0.01) -> bool:
    """Whether the memory in use did not move; raises NotMeasured."""
    memory = gpu.over("memory_used_bytes", W5)
    return memory.max - memory.min <= max_change_share * float(gpu.now("memory_total_bytes"))


def require_all_processes(gpu: GpuWindow) -> None:
    """Raise NotMeasured unless every process on the GPU can be seen from here."""
    snapshot = gpu.node.latest
    if snapshot is None:
        return
    if snapshot.paste is not None and snapshot.paste.process_list not in ("listed", "none"):
        raise NotMeasured("processes", reason="cut" if snapshot.paste.process_list == "cut" else "not_shown")
    if snapshot.agent is not None and snapshot.agent.sees_all_processes is False:
        raise NotMeasured("processes", reason="no_permission")
    reason = gpu.node.gap(f"gpu:{gpu.index}", "processes")
    if reason is not None:
        raise NotMeasured("processes", reason=reason)


def named_bytes(gpu: GpuWindow) -> int:
    """Memory of the GPU that processes are known to hold; raises NotMeasured when one does not tell."""
    total, index = 0, gpu.index
    for process in gpu.processes:
        for use in process.reading.gpus or ():
            if use.gpu == index:
                if use.memory_used_bytes is None:
                    raise NotMeasured("process_memory_bytes", reason="not_supported")
                total += use.memory_used_bytes
    return total


def owner(process: ProcessWindow) -> str:
    """Whose process it is: job, pod, unit or user, whichever says most."""
    return owner_of(process.reading)


def whose(process: ProcessWindow, *, alone: bool = False) -> dict[str, Any]:
    """Words about the process that holds memory: its name, pid and owner, and what would free it."""
    return ownership(process.reading, alone=alone)


def may_hold(gpu: GpuWindow) -> dict[str, Any]:
    """The same for the one process that has the GPU open and that the driver does not list; else nothing."""
    found = [
        process
        for process in gpu.processes
        if process.memory_on(gpu.index) is None
        and process.workload.kind not in AT_REST
        and not any(use.gpu == gpu.index for use in process.reading.gpus or ())
    ]
    return {"free": ownership(found[0].reading, maybe=True)["free"]} if len(found) == 1 else {}


def name(process: ProcessWindow) -> str:
    return process.reading.name or process.reading.command or f"pid {process.reading.pid}"
