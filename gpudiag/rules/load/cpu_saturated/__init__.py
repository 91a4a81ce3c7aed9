"""The host has no CPU left for the threads that feed the GPU."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import feeders, low_utilization, starved
from gpudiag.window import W5, GpuWindow, NotMeasured


@rule(severity="warning", rank=INEFFICIENT, given=("loaded", "underused"), also="low-util-under-load")
def cpu_saturated(
    gpu: GpuWindow, *, min_pressure_percent: float = 25.0, min_load_per_core: float = 1.5
) -> Fires | None:
    """The host has no CPU left for the data and launch threads."""
    load = starved(gpu)
    if load is None:
        return None
    own = [p.reading.cpu_pressure_some for p in feeders(gpu, load) if p.reading.cpu_pressure_some is not None]
    host, missing = gpu.node.host, []
    try:
        pressure = max(own) if own else host.over("cpu_pressure_some", W5).mean
        if pressure > min_pressure_percent:
            waiting = measured("cpu_pressure_percent", round(pressure), window=W5, source="PSI")
            return Fires((waiting, low_utilization(gpu), *load.evidence))
    except NotMeasured as absent:
        missing += absent.missing
    try:
        cores = host.now("cpu_count")
        queue = host.over("load_1min", W5).mean / cores
        if queue > min_load_per_core and not own:
            line = measured("load_per_core", round(queue, 1), window=W5, source="/proc/loadavg")
            return Fires((line, low_utilization(gpu), *load.evidence), variant="queue")
    except NotMeasured as absent:
        missing += absent.missing
    if len(missing) > 1:
        raise NotMeasured(*missing)
    return None
