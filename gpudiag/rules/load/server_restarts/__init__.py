"""A serving engine starts again and again, and ends before it answers."""

from collections.abc import Iterator
from itertools import pairwise

from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.window import W15, W30, GpuWindow, ProcessWindow

TOGETHER_SECONDS = 20.0  # processes of one server start so close to each other


@rule(
    severity="warning",
    rank=STUCK,
    maturity="experimental",
    given=("process", "engine"),
    explains=("model-loading", "memory-held-idle"),
    clear_seconds=360.0,  # whoever restarts it waits up to five minutes in between
)
def server_restarts(
    gpu: GpuWindow,
    *,
    min_starts: int = 3,
    within_seconds: float = W30,
    max_life_seconds: float = W15,
) -> Iterator[Fires] | None:
    """A serving engine starts again and again."""
    if not gpu.node.departed:
        return None
    return _restarted(gpu, min_starts, within_seconds, max_life_seconds)


def _restarted(gpu: GpuWindow, min_starts: int, within: float, max_life: float) -> Iterator[Fires]:
    for engine in gpu.engines:
        reading = engine.reading
        if reading.ever_answered or reading.metrics_ok or reading.health_ok:
            continue
        pids = engine.pids
        now = next((process for process in gpu.processes if process.reading.pid in pids), None)
        if now is None:
            continue
        before = [
            process
            for process in gpu.node.departed
            if process.workload == now.workload
            and gpu.index in process.gpus
            and gpu.node.time - process.last_seen <= within
            and _life(process) <= max_life
        ]
        starts = _starts([*before, now])
        if starts >= min_starts:
            yield Fires(
                (
                    measured("starts", starts, window=within, source="/proc"),
                    measured("longest_life_seconds", round(max(map(_life, before))), source="/proc"),
                ),
                key=reading.name,
                words={"engine": reading.name, "pid": str(now.reading.pid)},
            )


def _life(process: ProcessWindow) -> float:
    """Seconds from its start until it was last seen."""
    started = process.reading.started_at
    return process.last_seen - (process.first_seen if started is None else started)


def _starts(processes: list[ProcessWindow]) -> int:
    """How often they began: those of one server begin together."""
    moments = sorted(process.last_seen - _life(process) for process in processes)
    return 1 + sum(later - one > TOGETHER_SECONDS for one, later in pairwise(moments))
