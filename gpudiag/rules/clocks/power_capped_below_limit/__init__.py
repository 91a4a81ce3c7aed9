"""The driver holds the clocks for power, and the GPU draws far less than it may."""

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.rules.clocks.reasons import is_mobile
from gpudiag.window import W5, W15, GpuWindow


@rule(
    severity="warning",
    rank=THERMAL,
    maturity="experimental",
    given=("working", "throttled"),
    explains=("clocks-stuck-low", "busy-but-inefficient"),
)
def power_capped_below_limit(
    gpu: GpuWindow,
    *,
    min_utilization_percent: float = 70.0,
    min_capped_ratio: float = 0.8,
    max_power_ratio: float = 0.75,
    max_clock_ratio: float = 0.65,
) -> Fires | None:
    """Power holds the clocks down, far below the power limit."""
    if gpu.over("utilization_percent", W5).mean < min_utilization_percent:
        return None
    capped = gpu.share("sw_power_cap", W5)
    if capped < min_capped_ratio:
        return None
    clock, fastest = gpu.over("sm_clock_megahertz", W5), gpu.now("sm_clock_max_megahertz")
    if clock.mean >= max_clock_ratio * fastest:
        return None
    power, limit = gpu.over("power_watts", W5).mean, gpu.now("power_limit_watts")
    if power >= max_power_ratio * limit:
        return None
    if is_mobile(gpu):
        return None
    gpu.require(W5)
    lasts = gpu.covers(W15) and gpu.over("sm_clock_megahertz", W15).max < (max_clock_ratio + 0.1) * fastest
    return Fires(
        (
            measured("power_watts", round(power), of=round(limit), window=W5),
            measured("sm_clock_megahertz", clock.mean, of=fastest, window=W5),
            measured("capped_ratio", capped, window=W5),
            measured("utilization_percent", gpu.over("utilization_percent", W5).mean, window=W5),
        ),
        severity="warning" if lasts else "info",
        confidence="likely" if lasts else "possible",
    )
