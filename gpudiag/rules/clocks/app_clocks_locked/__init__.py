"""An administrator's setting holds the clocks."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import W5, GpuWindow


@rule(severity="info", rank=HINT, given=("working", "throttled"))
def app_clocks_locked(gpu: GpuWindow, *, min_ratio: float = 0.9) -> Fires | None:
    """The application clocks setting limits the clocks of a busy GPU."""
    if gpu.share("app_clocks", W5) < min_ratio or gpu.over("utilization_percent", W5).mean < 5.0:
        return None
    reading = gpu.reading
    chosen, usual = reading.application_sm_clock_megahertz, reading.application_sm_clock_default_megahertz
    if chosen is not None and chosen == usual:
        return None
    enough = gpu.covers(W5)
    evidence = [measured("setting_ratio", gpu.share("app_clocks", W5), window=W5 if enough else None)]
    if chosen is not None:
        evidence.append(measured("application_sm_clock_megahertz", chosen, of=usual))
    return Fires(tuple(evidence), confidence="proven" if enough and chosen is not None else "likely")
