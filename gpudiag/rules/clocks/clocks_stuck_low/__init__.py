"""Loaded, and the clocks stay low without a stated reason."""

from gpudiag.model import CLOCKS_EVENT
from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.rules.sight import seen_seconds
from gpudiag.window import W5, W7D, W15, GpuWindow, NotMeasured

NAMED = sum(CLOCKS_EVENT.values())
AT_WORK = (None, "P0", "P1", "P2", "P3")  # programs that compute run in P2 on GeForce, held laptops in P3


@rule(severity="warning", rank=THERMAL, maturity="experimental", given=("working",))
def clocks_stuck_low(
    gpu: GpuWindow,
    *,
    min_utilization_percent: float = 70.0,
    max_clock_ratio: float = 0.6,
    max_power_ratio: float = 0.6,
    max_reason_ratio: float = 0.1,
) -> Fires | None:
    """Loaded at a small share of the highest clock, and no reason is given.

    Where the card idles between kernels it says so: then the driver gives a reason.
    """
    if gpu.over("utilization_percent", W5).mean < min_utilization_percent:
        return None
    clock, fastest = gpu.over("sm_clock_megahertz", W5), gpu.now("sm_clock_max_megahertz")
    if clock.mean >= max_clock_ratio * fastest:
        return None
    if gpu.reading.pstate not in AT_WORK:
        return None
    reasons = gpu.reading.clocks_event_reasons
    unread, unnamed = reasons is None, bool((reasons or 0) & ~NAMED)
    if _reason_told(gpu, max_reason_ratio, unread):
        return None
    if not gpu.node.pasted:
        gpu.require(W5)
    if _power_is_usual(gpu, max_power_ratio) or ((unread or unnamed) and _at_its_limit(gpu)):
        return None
    confirmed = (
        gpu.covers(W15) and gpu.over("sm_clock_megahertz", W15).max < (max_clock_ratio + 0.1) * fastest
    )
    span = seen_seconds(gpu) if gpu.node.pasted else W5
    sure = confirmed and not unread and not unnamed
    variant = "reasons-unread" if unread else "reason-unnamed" if unnamed else None
    if span is None:
        variant = "one-sample"
    return Fires(
        (
            measured("sm_clock_megahertz", clock.mean, of=fastest, window=span),
            measured("utilization_percent", gpu.over("utilization_percent", W5).mean, window=span),
        ),
        severity="warning" if sure else "info",
        confidence="likely" if sure else "possible",
        variant=variant,
    )


def _reason_told(gpu: GpuWindow, max_ratio: float, unread: bool) -> bool:
    """Whether a reason held for longer; where the bits cannot be read, counters may tell of some."""
    for reason in CLOCKS_EVENT:
        try:
            if gpu.share(reason, W5) > max_ratio:
                return True
        except NotMeasured:
            if not unread:
                raise
    return False


def _at_its_limit(gpu: GpuWindow, share: float = 0.9) -> bool:
    """Whether the power limit would explain the clocks; where none is told, it may."""
    limit = gpu.reading.power_limit_watts
    return limit is None or gpu.over("power_watts", W5).mean >= share * limit


def _power_is_usual(gpu: GpuWindow, ratio: float) -> bool:
    """Whether it draws about what it usually draws under load; unknown without a usual value."""
    try:
        usual = gpu.over("busy_power_watts", W7D)
    except NotMeasured:
        return False
    return usual.seconds > 2 * W15 and gpu.over("power_watts", W5).mean >= ratio * usual.max
