"""The PCIe link stays slow although the GPU works."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import W5, GpuWindow

FAST_STATES = frozenset({"P0", "P1", "P2"})


@rule(severity="warning", rank=INEFFICIENT, given=("working", "linked"), explains=("pcie-low-gen-idle",))
def pcie_gen_degraded_under_load(
    gpu: GpuWindow, *, min_utilization_percent: float = 50.0, min_samples: int = 20
) -> Fires | None:
    """The PCIe generation is below what card and slot can do, in busy samples."""
    now, most = gpu.now("pcie_link_generation"), gpu.now("pcie_link_generation_max")
    if now >= most or gpu.now("pstate") not in FAST_STATES:
        return None
    utilization = gpu.over("utilization_percent", W5)
    if utilization.mean < min_utilization_percent:
        return None
    generation = gpu.over("pcie_link_generation", W5)
    if generation.max >= most:
        return None
    enough = generation.n >= min_samples and gpu.covers(W5)
    return Fires(
        (
            measured("pcie_link_generation", now, of=most),
            measured("utilization_percent", utilization.mean, window=W5 if enough else None),
        ),
        severity="warning" if enough else "info",
        confidence="likely" if enough else "possible",
        words={"bus": gpu.reading.bus_id or "BUS_ID"},
    )
