"""Fully loaded, and the clocks stay low without a stated reason."""

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.window import W5, W7D, W15, GpuWindow, NotMeasured

REASONS = (
    "gpu_idle",
    "app_clocks",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal",
    "hw_thermal",
    "power_brake",
)


@rule(severity="warning", rank=THERMAL, maturity="experimental", given=("spinning",))
def clocks_stuck_low(
    gpu: GpuWindow,
    *,
    min_utilization_percent: float = 90.0,
    max_clock_ratio: float = 0.6,
    max_power_ratio: float = 0.6,
    max_reason_ratio: float = 0.1,
) -> Fires | None:
    """Full load at a small share of the highest clock, and no reason is given."""
    if gpu.over("utilization_percent", W5).mean < min_utilization_percent:
        return None
    clock, fastest = gpu.over("sm_clock_megahertz", W5), gpu.now("sm_clock_max_megahertz")
    if clock.mean >= max_clock_ratio * fastest:
        return None
    if gpu.reading.pstate not in (None, "P0", "P1"):
        return None
    if any(gpu.share(reason, W5) > max_reason_ratio for reason in REASONS):
        return None
    gpu.require(W5)
    if _power_is_usual(gpu, max_power_ratio):
        return None
    confirmed = (
        gpu.covers(W15) and gpu.over("sm_clock_megahertz", W15).max < (max_clock_ratio + 0.1) * fastest
    )
    return Fires(
        (
            measured("sm_clock_megahertz", clock.mean, of=fastest, window=W5),
            measured("utilization_percent", gpu.over("utilization_percent", W5).mean, window=W5),
        ),
        severity="warning" if confirmed else "info",
        confidence="likely" if confirmed else "possible",
    )


def _power_is_usual(gpu: GpuWindow, ratio: float) -> bool:
    """Whether it draws about what it usually draws under load; unknown without a usual value."""
    try:
        usual = gpu.over("busy_power_watts", W7D)
    except NotMeasured:
        return False
    return usual.seconds > 2 * W15 and gpu.over("power_watts", W5).mean >= ratio * usual.max
