"""The GPU's memory is close to its own limit of temperature."""

from gpudiag.rule import THERMAL, Fires, measured, rule
from gpudiag.rules.clocks.reasons import lower_limit
from gpudiag.window import W5, GpuWindow


@rule(severity="warning", rank=THERMAL, maturity="experimental", given=("warm",))
def hbm_hot(gpu: GpuWindow, *, max_margin_celsius: float = 5.0) -> Fires | None:
    """The memory runs within a few degrees of its highest operating temperature."""
    now, limit = gpu.now("temperature_memory_celsius"), gpu.now("temperature_memory_max_celsius")
    if now < limit - max_margin_celsius:
        return None
    memory = gpu.over("temperature_memory_celsius", W5)
    if memory.mean < limit - max_margin_celsius:
        return None
    enough = gpu.covers(W5)
    return Fires(
        (measured("temperature_memory_celsius", memory.mean, of=limit, window=W5 if enough else None),),
        confidence="proven" if enough else "possible",
        severity="warning" if enough else "info",
        words={"lower_limit": lower_limit(gpu)},
    )
