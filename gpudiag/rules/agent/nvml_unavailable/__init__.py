"""The NVIDIA driver does not answer on this node."""

from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import Window

OTHERS = ("library_mismatch", "gpu_is_lost", "reset_required", "timeout")
"""Reasons that other rules speak of."""
VARIANTS = {
    "driver_not_loaded": "no-driver",
    "library_not_found": "no-library",
    "no_permission": "no-permission",
}


@rule(severity="critical", rank=BLIND, confidence="proven", clear_seconds=60.0)  # an answer is proof
def nvml_unavailable(node: Window, *, min_failures: int = 3) -> Fires | None:
    """The NVIDIA driver is not answering on this node."""
    snapshot = node.latest
    nvml = snapshot.nvml if snapshot else None
    if snapshot is None or nvml is None or nvml.error is None or nvml.error in OTHERS:
        return None
    host = snapshot.host
    if host is not None and host.pci_gpu_count == 0 and not node.due_gpus:
        return None  # no-gpu-host
    if host is not None and host.in_container and nvml.error in ("unknown_error", "no_permission"):
        return None  # container-lost-gpu
    if snapshot.source == "agent":
        failed = node.host.over("nvml_failed", node.span_of(min_failures))
        if failed.mean * failed.n < min_failures - 0.5:
            node.require(min_failures * node.interval * 1.2)
            return None
    evidence = [measured("reason", nvml.error, source="NVML")]
    if nvml.error_code is not None:
        evidence.append(measured("error_code", nvml.error_code, source="NVML"))
    if host is not None and host.pci_gpu_count is not None:
        evidence.append(measured("gpus_on_bus", host.pci_gpu_count, source="sysfs"))
    nouveau = host is not None and "nouveau" in (host.modules or ())
    variant = "nouveau" if nouveau else VARIANTS.get(nvml.error)
    return Fires(tuple(evidence), variant=variant)
