"""The hardware itself halves the clocks because the GPU is at its slowdown temperature."""

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.rules.clocks.reasons import lasting, lower_limit, now_or_none, siblings_with
from gpudiag.window import W5, GpuWindow


@rule(
    severity="critical",
    rank=THERMAL,
    confidence="proven",
    given=("slowed",),
    explains=(
        "thermal-sw-slowdown",
        "thermal-margin-low",
        "clocks-stuck-low",
        "hbm-hot",
        "busy-but-inefficient",
    ),
)
def thermal_hw_slowdown(
    gpu: GpuWindow,
    *,
    min_samples: int = 3,
    min_counted_ratio: float = 0.05,
    max_margin_celsius: float = 2.0,
    min_unsaid_ratio: float = 0.5,
) -> Fires | None:
    """Heat made the hardware cut the clocks by half or more."""
    held = lasting(gpu, "hw_thermal", "throttle_hw_thermal_nanoseconds", min_samples, min_counted_ratio)
    if held is None:
        return _unsaid(gpu, min_unsaid_ratio)
    margin = now_or_none(gpu, "temperature_margin_celsius")
    if held.by_counter and margin is not None and margin > max_margin_celsius:
        return None  # the counter rose, and by now it is cool again
    evidence = [*held.evidence, measured("temperature_celsius", gpu.now("temperature_celsius"))]
    if margin is not None:
        evidence.append(measured("temperature_margin_celsius", margin))
    return Fires(
        tuple(evidence),
        confidence=None if held.enough else "likely",
        words={"neighbours": siblings_with(gpu, "hw_thermal"), "lower_limit": lower_limit(gpu)},
    )


def _unsaid(gpu: GpuWindow, min_ratio: float) -> Fires | None:
    """The hardware slows down for long and names neither heat nor power; a flicker is a change of state."""
    stats = gpu.over("hw_slowdown", W5)
    if stats.mean < min_ratio or gpu.share("power_brake", W5) > 0:
        return None
    enough = gpu.covers(W5)
    idle = gpu.reading.utilization_percent is not None and gpu.reading.utilization_percent < 5
    return Fires(
        (measured("slowdown_ratio", stats.mean, window=W5 if enough else None),),
        severity="info" if idle or not enough else "warning",
        confidence="likely" if enough else "possible",
        variant="unsaid",
        words={"neighbours": siblings_with(gpu, "hw_slowdown"), "lower_limit": lower_limit(gpu)},
    )
