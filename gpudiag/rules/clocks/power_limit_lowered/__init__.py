"""The GPU may draw less than its board allows by default."""

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.rules.clocks.reasons import is_mobile
from gpudiag.window import GpuWindow


@rule(
    severity="warning", rank=THERMAL, confidence="proven", given=("adjusted",), explains=("clocks-stuck-low",)
)
def power_limit_lowered(
    gpu: GpuWindow, *, min_limit_ratio: float = 0.95, allowed_limit_watts: float = 0.0
) -> Fires | None:
    """The enforced power limit is below the board's default, or below its siblings'."""
    limit = gpu.now("power_limit_watts")
    default = gpu.reading.power_limit_default_watts
    if limit == allowed_limit_watts or is_mobile(gpu):
        return None
    if default is not None:
        if limit >= min_limit_ratio * default:
            return None
        return Fires(
            (measured("power_limit_watts", limit, of=default),),
            severity="info" if gpu.node.pasted else None,  # whoever pastes it may have set it
            words={"default_limit": f"{default:.0f}"},
        )
    usual = _of_siblings(gpu)
    if usual is None:
        gpu.now("power_limit_default_watts")
        return None
    if limit >= min_limit_ratio * usual:
        return None
    return Fires(
        (measured("power_limit_watts", limit, of=usual),),
        severity="info" if gpu.node.pasted else None,
        confidence="likely",
        variant="siblings",
        words={"default_limit": f"{usual:.0f}"},
    )


def _of_siblings(gpu: GpuWindow) -> float | None:
    """The limit that all the other GPUs of this model have, where they agree and are at least two."""
    limits = {
        other.reading.power_limit_watts
        for other in gpu.node.gpus.values()
        if other is not gpu and other.reading.name == gpu.reading.name
    }
    several = sum(other.reading.name == gpu.reading.name for other in gpu.node.gpus.values()) > 2
    return limits.pop() if several and len(limits) == 1 else None
