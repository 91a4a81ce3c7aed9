"""Work waits and the GPU is mostly idle: the umbrella over everything that keeps it waiting."""

from gpudiag.rule import INEFFICIENT, Fires, rule
from gpudiag.rules.load.evidence import MOST_PERCENT, low_utilization, starved
from gpudiag.window import GpuWindow


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
    variant = None if load.kind == "requests" else load.kind
    return Fires((low_utilization(gpu), *load.evidence), variant=variant)
