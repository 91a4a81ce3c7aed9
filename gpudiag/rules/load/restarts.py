"""Programs that end soon and are started again: how often, and how long they lived."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from gpudiag.window import GpuWindow, ProcessWindow

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
