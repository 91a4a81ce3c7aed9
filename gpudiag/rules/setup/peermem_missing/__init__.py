"""Network cards cannot reach GPU memory directly: a kernel module is not loaded."""

from gpudiag.rule import HINT, Fires, calculated, measured, rule
from gpudiag.window import NotMeasured, Window

MODULES = ("nvidia_peermem", "nv_peer_mem")


@rule(severity="info", rank=HINT, confidence="possible")
def peermem_missing(node: Window) -> Fires | None:
    """InfiniBand is active on a node with several GPUs, and no peer-memory module is loaded."""
    host = node.latest.host if node.latest else None
    if host is None or not host.ports or len(node.gpus) < 2:
        return None
    active = [p for p in host.ports if p.kind == "infiniband" and (p.state or "").lower() in ("active", "up")]
    if not active:
        return None
    if host.modules is None:
        raise NotMeasured("host.modules", reason=node.gap("host", "modules"))
    if any(module in host.modules for module in MODULES):
        return None
    return Fires(
        (
            measured("active_ports", len(active), source="/sys"),
            calculated("gpu_count", len(node.gpus)),
        )
    )
