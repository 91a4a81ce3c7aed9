"""An idle GPU draws more than it, or its siblings, usually do at rest."""

from statistics import median

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import W5, W6H, W7D, GpuWindow, NotMeasured


@rule(severity="info", rank=HINT, maturity="experimental", given=("idle",))
def idle_power_high(gpu: GpuWindow, *, min_ratio: float = 1.3, min_extra_watts: float = 10.0) -> Fires | None:
    """Nothing runs, and it draws clearly more than usual at rest."""
    if gpu.node.processes and gpu.processes:
        return None
    if _like_a_sibling(gpu, min_ratio):
        return None
    gpu.require(W5)
    if gpu.share("quiet", W5) < 1.0:
        return None
    watts = gpu.over("power_watts", W5).mean
    siblings = _siblings(gpu)
    usual = median(siblings) if len(siblings) >= 2 else _usual(gpu)
    if watts < min_ratio * usual or watts - usual < min_extra_watts:
        return None
    return Fires(
        (
            measured("power_watts", watts, of=usual, window=W5),
            measured("pstate", gpu.reading.pstate or "?"),
        ),
        variant="siblings" if len(siblings) >= 2 else None,
    )


def _like_a_sibling(gpu: GpuWindow, ratio: float) -> bool:
    """A cheap look: it draws no more than any other card of its model, right now."""
    reading = gpu.reading
    others = [
        other.reading.power_watts
        for other in gpu.node.gpus.values()
        if other is not gpu and other.reading.name == reading.name and other.reading.power_watts is not None
    ]
    return len(others) >= 2 and reading.power_watts is not None and reading.power_watts < ratio * min(others)


def _siblings(gpu: GpuWindow) -> list[float]:
    """What the other idle GPUs of this model draw on this node."""
    found = []
    for other in gpu.node.gpus.values():
        if other is not gpu and other.reading.name == gpu.reading.name and not other.processes:
            try:
                if other.share("quiet", W5) == 1.0:
                    found.append(other.over("power_watts", W5).mean)
            except NotMeasured:
                continue
    return found


def _usual(gpu: GpuWindow) -> float:
    gpu.require(W6H)
    return gpu.over("idle_power_watts", W7D).mean
