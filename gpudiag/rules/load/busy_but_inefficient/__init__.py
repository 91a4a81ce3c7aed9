"""Utilization is near 100 % and most of the chip's units are idle."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.engines import asked
from gpudiag.rules.load.evidence import working_watts
from gpudiag.rules.sight import confidence, holds_nothing, seen_seconds
from gpudiag.window import W5, W15, GpuWindow, NotMeasured

CLEARLY_WORKING_SHARE = 0.6  # of the limit: no card rests so high that this could be little


@rule(severity="info", rank=INEFFICIENT, given=("spinning",))
def busy_but_inefficient(
    gpu: GpuWindow,
    *,
    min_utilization_percent: float = 90.0,
    max_active_ratio: float = 0.50,
    max_power_share: float = 0.40,
    working_power_share: float = 0.35,
    max_serving_power_share: float = 0.25,
    max_dram_ratio: float = 0.60,
    max_memory_percent: float = 10.0,
) -> Fires | None:
    """The GPU shows 100 % but most of its units idle."""
    if gpu.reading.sm_active_ratio is None and _draws(gpu, CLEARLY_WORKING_SHARE):
        return None
    span = W15
    if not gpu.covers(W15) or gpu.over("utilization_percent", W15).mean < min_utilization_percent:
        span = W5
    busy = gpu.over("utilization_percent", span).mean
    if busy < min_utilization_percent or gpu.reading.error or holds_nothing(gpu):
        return None
    serving = [e for e in gpu.engines if e.reading.metrics_ok]
    if serving and not any(asked(engine) for engine in serving):
        return None  # nobody asks: tp-spin-without-requests
    dram = gpu.reading.dram_active_ratio
    if dram is not None and dram >= max_dram_ratio:
        return None  # memory-bandwidth-bound
    seen = measured("utilization_percent", round(busy, 1), window=seen_seconds(gpu, span))
    if gpu.reading.sm_active_ratio is not None:
        active = gpu.over("sm_active_ratio", W5).mean
        if active >= max_active_ratio:
            return None
        ratio = measured("sm_active_ratio", round(active, 2), window=seen_seconds(gpu))
        return Fires((ratio, seen), confidence=confidence(gpu))
    power, limit = gpu.over("power_watts", span).mean, gpu.now("power_limit_watts")
    moves = gpu.reading.memory_utilization_percent is not None and not serving
    if moves and gpu.over("memory_utilization_percent", W5).mean >= max_memory_percent:
        return None  # memory is read all the time: work that draws little power
    if not limit:
        raise NotMeasured("power_limit_watts")
    little = max_power_share * limit
    if serving:
        little = max_serving_power_share * limit
    elif power >= little:  # up to where healthy-busy takes it for work
        little = working_watts(gpu, limit, working_power_share)
    if power >= little:
        return None
    watts = measured("power_watts", round(power), of=round(limit), window=seen_seconds(gpu, span))
    return Fires((watts, seen), confidence="possible", variant="by-power")


def _draws(gpu: GpuWindow, share: float) -> bool:
    """Right now it draws the power of real work."""
    power, limit = gpu.reading.power_watts, gpu.reading.power_limit_watts
    return power is not None and limit is not None and power >= share * limit
