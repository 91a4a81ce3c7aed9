"""A serving engine starts again and again, and ends before it answers or soon after."""

from collections.abc import Iterator

from gpudiag.owners import log_of
from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.rules.load.restarts import LOG, ended_young, life, started_anew, starts
from gpudiag.window import W15, W30, GpuWindow


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
            for process in ended_young(gpu, within, max_life)
            if process.workload == now.workload and (not process.served or started_anew(process, now))
        ]
        times = starts([*before, now])
        if times >= min_starts:
            yield Fires(
                (
                    measured("starts", times, window=within, source="/proc"),
                    measured("longest_life_seconds", round(max(map(life, before))), source="/proc"),
                ),
                variant="served" if all(process.served for process in before) else None,
                key=reading.name,
                words={
                    "engine": reading.name,
                    "pid": str(now.reading.pid),
                    "log": log_of(now.reading) or LOG,
                },
            )
