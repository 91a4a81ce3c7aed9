"""Utilization reads nothing, and the GPU draws the power of real work: one of the two misleads."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.sight import confidence, seen_seconds
from gpudiag.window import QUIET_PERCENT, W5, GpuWindow


@rule(
    severity="info",
    rank=STATE,
    maturity="experimental",
    given=("idle",),
    explains=(
        "gpu-free",
        "kv-pool-reserved-idle",
        "weights-loaded-idle",
        "framework-prealloc-idle",
        "notebook-cached-memory",
        "engine-asleep",
        "idle-power-high",
        "idle-cpu-spin",
    ),
)
def power_without_utilization(gpu: GpuWindow, *, min_power_share: float = 0.6) -> Fires | None:
    """Nothing runs by its utilization, and it draws the power of real work."""
    reading = gpu.reading
    watts, limit = reading.power_watts, _limit(gpu)
    if watts is None or limit is None or watts < min_power_share * limit:
        return None
    if reading.encoder_percent or reading.decoder_percent or reading.error or not gpu.present:
        return None
    load, power = gpu.over("utilization_percent", W5), gpu.over("power_watts", W5)
    if load.max > QUIET_PERCENT or power.mean < min_power_share * limit:
        return None
    if not gpu.node.pasted:
        gpu.require(W5)
    span = seen_seconds(gpu)
    return Fires(
        (
            measured("utilization_percent", round(load.mean, 1), window=span),
            measured("power_watts", round(power.mean), of=round(limit), window=span),
        ),
        confidence=confidence(gpu),
        variant="one-sample" if span is None else None,
        also_explains=() if span is None else ("memory-held-idle", "held-by-idle-process", *WAITING),
    )


WAITING = ("low-util-under-load", "cpu-bound-single-core", "cpu-saturated", "storage-bound")
"""Rules that take the low utilization for a GPU that waits."""


def _limit(gpu: GpuWindow) -> float | None:
    """The highest limit that it tells: next to a lowered one, power at rest looks like much."""
    reading = gpu.reading
    told = (reading.power_limit_watts, reading.power_limit_default_watts, reading.power_limit_max_watts)
    return max((limit for limit in told if limit), default=None)
