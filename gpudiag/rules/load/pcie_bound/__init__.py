"""Copies between host and GPU are the limit."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import usable_pcie
from gpudiag.window import W5, GpuWindow


@rule(severity="warning", rank=INEFFICIENT, also="low-util-under-load", given=("working",))
def pcie_bound(
    gpu: GpuWindow, *, min_link_share: float = 0.70, max_utilization_percent: float = 60.0
) -> Fires | None:
    """Host to GPU copies are the limit."""
    rx, tx = gpu.reading.pcie_rx_bytes_per_second, gpu.reading.pcie_tx_bytes_per_second
    if rx is None and tx is None:
        if gpu.node.pasted:
            return None
        rx = gpu.now("pcie_rx_bytes_per_second")
    if max(rx or 0.0, tx or 0.0) < 0.05e9:
        return None
    usable = usable_pcie(gpu)
    rates = {
        name: gpu.over(f"pcie_{name}_bytes_per_second", W5).mean
        for name, now in (("rx", rx), ("tx", tx))
        if now is not None
    }
    direction = max(rates, key=lambda name: rates[name])
    if rates[direction] < min_link_share * usable:
        return None
    busy = gpu.over("utilization_percent", W5).mean
    active = gpu.reading.sm_active_ratio
    if busy >= max_utilization_percent and (active is None or active >= max_utilization_percent / 100):
        return None
    gpu.require(W5)
    return Fires(
        (
            measured("copy_bytes_per_second", rates[direction], of=usable, window=W5),
            measured("utilization_percent", round(busy, 1), window=W5),
        ),
        variant="to-host" if direction == "tx" else None,
    )
