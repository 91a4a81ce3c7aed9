"""Bridges above the GPUs send peer traffic up to the root first."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import NotMeasured, Window


@rule(severity="info", rank=HINT, confidence="possible")
def iommu_acs_p2p(node: Window) -> Fires | None:
    """ACS is on for PCIe bridges above several GPUs of a machine that is not virtual."""
    host = node.latest.host if node.latest else None
    if host is None or len(node.gpus) < 2:
        return None
    if host.acs_bridges is None:
        if node.gap("host", "acs_bridges") is None:
            return None  # not asked for
        raise NotMeasured("host.acs_bridges", reason=node.gap("host", "acs_bridges"))
    kinds = {gpu.reading.virtualization for gpu in node.gpus.values()}
    if not host.acs_bridges or not kinds <= {None, "none"} or (host.in_container and None in kinds):
        return None
    if all(gpu.reading.nvlinks_active for gpu in node.gpus.values()):
        return None  # peers talk over NVLink
    return Fires((measured("acs_bridges", host.acs_bridges, source="/sys"),))
