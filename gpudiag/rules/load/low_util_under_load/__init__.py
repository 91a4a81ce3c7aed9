"""Work waits and the GPU is mostly idle: the umbrella over everything that keeps it waiting."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.holders import whose
from gpudiag.rules.load.evidence import (
    MOST_PERCENT,
    WORKED_PERCENT,
    low_utilization,
    rests_in_turns,
    starved,
    waits_its_turn,
)
from gpudiag.window import QUIET_PERCENT, W2, W5, W15, GpuWindow, ProcessWindow

STOPPED = "T"


@rule(
    severity="warning",
    rank=INEFFICIENT,
    given=("loaded",),
    explains=("memory-held-idle", "healthy-busy"),
)
def low_util_under_load(gpu: GpuWindow, *, max_mean_percent: float = MOST_PERCENT) -> Fires | None:
    """Work waits but the GPU is mostly idle."""
    load = starved(gpu, max_mean_percent)
    if load is None:
        return None
    seen = (low_utilization(gpu), *load.evidence)
    if rests_in_turns(gpu, load):
        return Fires(seen, severity="info", confidence="possible", variant="in-turns")
    if load.process is not None and load.process.reading.state == STOPPED:
        return Fires(seen, variant="stopped", words=whose(load.process))
    others = waits_its_turn(gpu, load)
    if others:
        words = {"others": ", ".join(map(str, others))}
        return Fires(seen, severity="info", confidence="possible", variant="others-work", words=words)
    if load.process is not None and _may_save(gpu, load.process):
        return Fires(seen, severity="info", confidence="possible", variant=load.kind)
    if load.process is not None and _does_nothing(gpu, load.process):
        cpu = measured("process_cpu_percent", round(load.process.over("cpu_percent", W5).mean, 1), window=W5)
        return Fires((*seen, cpu), variant="still", words=whose(load.process))
    return Fires(seen, variant=None if load.kind == "requests" else load.kind)


def _may_save(gpu: GpuWindow, process: ProcessWindow) -> bool:
    """It stopped working a short while ago, and whether it writes its state cannot be seen from here."""
    unseen = process.reading.write_bytes_per_second is None
    rests = gpu.over("utilization_percent", W2).mean <= QUIET_PERCENT
    return unseen and rests and gpu.over("utilization_percent", W15).max >= WORKED_PERCENT


def _does_nothing(gpu: GpuWindow, process: ProcessWindow, max_cpu_percent: float = 5.0) -> bool:
    """Neither the GPU nor the CPU has run anything of it, as far as both can be seen."""
    if process.reading.cpu_percent is None or gpu.share("quiet", W5) < 1.0:
        return False
    busy = process.over("cpu_percent", W5).mean >= max_cpu_percent
    return not busy and not process.reading.children
