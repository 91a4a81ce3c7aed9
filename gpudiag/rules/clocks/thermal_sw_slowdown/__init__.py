"""The driver lowers the clocks to hold its temperature target."""

from gpudiag.model import Confidence
from gpudiag.rule import THERMAL, Fires, calculated, measured, rule
from gpudiag.rules.clocks.reasons import Held, lasting, lower_limit, now_or_none, siblings_with
from gpudiag.window import W5, W7D, GpuWindow, NotMeasured


@rule(
    severity="warning",
    rank=THERMAL,
    given=("slowed",),
    explains=("clocks-stuck-low", "power-cap-at-full-load", "thermal-margin-low"),
)
def thermal_sw_slowdown(
    gpu: GpuWindow,
    *,
    min_ratio: float = 0.3,
    min_counted_ratio: float = 0.10,
    max_clock_ratio: float = 0.95,
    min_before_seconds: float = 60.0,
) -> Fires | None:
    """Heat made the driver lower the clocks for a good part of the time."""
    if gpu.over("sw_thermal", W5).mean == 0 and not gpu.reading.throttle_sw_thermal_nanoseconds:
        return None
    span = W5 if gpu.covers(W5) else 10.0
    held = lasting(gpu, "sw_thermal", "throttle_sw_thermal_nanoseconds", min_ratio * span, min_counted_ratio)
    if held is None:
        return _before(gpu, min_before_seconds)
    kept = _kept(gpu)
    evidence = [*held.evidence]
    temperature = now_or_none(gpu, "temperature_celsius")
    if temperature is not None:
        evidence.append(measured("temperature_celsius", temperature))
    if kept is not None:
        evidence.append(calculated("kept_clock_ratio", kept, window=W5))
    slight = kept is not None and kept >= max_clock_ratio
    return Fires(
        tuple(evidence),
        severity="info" if slight else "warning",
        confidence="proven" if kept is not None and held.enough else _confidence(gpu, held),
        variant="slight" if slight else None,
        words={"neighbours": siblings_with(gpu, "sw_thermal"), "lower_limit": lower_limit(gpu)},
    )


def _before(gpu: GpuWindow, least: float) -> Fires | None:
    """What the driver has counted since it was loaded, in a pasted part that does not show the load."""
    seconds = (gpu.reading.throttle_sw_thermal_nanoseconds or 0) / 1e9
    if not gpu.node.pasted or gpu.reading.utilization_percent is not None or seconds < least:
        return None
    counted = measured("throttled_seconds", round(seconds), source="pasted text")
    words = {"neighbours": siblings_with(gpu, "sw_thermal"), "lower_limit": lower_limit(gpu)}
    return Fires((counted,), severity="info", confidence="possible", variant="before", words=words)


def _confidence(gpu: GpuWindow, held: Held) -> Confidence:
    return "likely" if held.enough or gpu.node.pasted else "possible"


def _kept(gpu: GpuWindow) -> float | None:
    """The clock now as a share of this GPU's usual clock under load; None where no usual is known."""
    try:
        usual = gpu.over("busy_sm_clock_megahertz", W7D)
        now = gpu.over("busy_sm_clock_megahertz", W5)
    except NotMeasured:
        return None
    if usual.seconds < 2 * W5 or not usual.max:
        return None
    return now.mean / usual.max
