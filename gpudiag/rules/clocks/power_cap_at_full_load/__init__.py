"""Fully loaded and held by its own power limit: what a GPU at work looks like."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import W5, GpuWindow, NotMeasured


@rule(severity="ok", rank=STATE, given=("working", "throttled"), explains=("clocks-stuck-low",))
def power_cap_at_full_load(
    gpu: GpuWindow,
    *,
    min_capped_ratio: float = 0.5,
    min_utilization_percent: float = 80.0,
    min_power_ratio: float = 0.95,
    min_limit_ratio: float = 0.95,
) -> Fires | None:
    """The default power limit holds the clocks while the GPU is fully loaded."""
    unseen = gpu.node.pasted and gpu.reading.utilization_percent is None
    utilization = None if unseen else gpu.over("utilization_percent", W5).mean
    if utilization is not None and utilization < min_utilization_percent:
        return None
    capped = gpu.share("sw_power_cap", W5)
    if capped < min_capped_ratio:
        return None
    power, limit = gpu.over("power_watts", W5), gpu.now("power_limit_watts")
    if power.mean < min_power_ratio * limit:
        return None
    default = gpu.reading.power_limit_default_watts
    if default is not None and limit < min_limit_ratio * default:
        return None
    if default is None and not gpu.node.pasted:
        raise NotMeasured("power_limit_default_watts")
    window = W5 if gpu.covers(W5) else None
    drawn, held = (
        measured("power_watts", power.mean, of=limit, window=window),
        measured("capped_ratio", capped, window=window),
    )
    if utilization is None:  # nothing draws so much at rest
        return Fires((drawn, held), severity="info", confidence="possible", variant="load-unseen")
    return Fires(
        (drawn, measured("utilization_percent", utilization, window=window), held),
        confidence="likely" if window else "possible",
        variant=None if window else "one-sample",
    )
