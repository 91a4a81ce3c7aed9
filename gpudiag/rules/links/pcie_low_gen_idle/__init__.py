"""A slow PCIe link on an idle GPU is power saving."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import W2, GpuWindow

LOW_STATES = frozenset(f"P{n}" for n in range(5, 16))


# A hint: that the link is well says nothing of the GPU, and must not make its verdict.
@rule(severity="ok", rank=HINT, confidence="proven", given=("linked",))
def pcie_low_gen_idle(gpu: GpuWindow, *, max_utilization_percent: float = 1.0) -> Fires | None:
    """The PCIe link idles at a lower generation while the GPU has nothing to do."""
    now, most = gpu.now("pcie_link_generation"), gpu.now("pcie_link_generation_max")
    if now >= most:
        return None
    width, widest = gpu.reading.pcie_link_width, gpu.reading.pcie_link_width_max
    if width is not None and widest is not None and width < widest:
        return None
    if (
        gpu.over("utilization_percent", W2).max > max_utilization_percent
        and gpu.reading.pstate not in LOW_STATES
    ):
        return None
    return Fires(
        (
            measured("pcie_link_generation", now, of=most),
            measured("utilization_percent", gpu.over("utilization_percent", W2).mean, window=W2),
        )
    )
