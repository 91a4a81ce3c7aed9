"""The PCIe link uses fewer lanes than card and slot have."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import W5, W15, GpuWindow, NotMeasured


@rule(severity="warning", rank=INEFFICIENT, given=("linked",), explains=("pcie-low-gen-idle",))
def pcie_width_degraded(
    gpu: GpuWindow, *, min_utilization_percent: float = 10.0, narrowest_by_design: int = 8
) -> Fires | None:
    """The PCIe link is narrower than it could be, also while the GPU works."""
    now, most = gpu.now("pcie_link_width"), gpu.now("pcie_link_width_max")
    if now >= most or gpu.over("pcie_link_width", W5).max >= most:
        return None
    if gpu.over("utilization_percent", W5).mean < min_utilization_percent:
        # some boards narrow the link at rest: only a working GPU tells
        raise NotMeasured("sample_under_load")
    evidence = (
        measured("pcie_link_width", now, of=most),
        measured("utilization_percent", gpu.over("utilization_percent", W5).mean),
    )
    words = {"bus": gpu.reading.bus_id or "BUS_ID"}
    if now >= narrowest_by_design and _all_alike(gpu, now):
        return Fires(evidence, severity="info", confidence="possible", variant="slot", words=words)
    return Fires(evidence, confidence="proven" if gpu.covers(W15) else "likely", words=words)


def _all_alike(gpu: GpuWindow, width: int) -> bool:
    """Whether all the cards of the node, at least two, have this width: then the board is wired so."""
    widths = [other.reading.pcie_link_width for other in gpu.node.gpus.values()]
    return len(widths) >= 2 and all(other == width for other in widths)
