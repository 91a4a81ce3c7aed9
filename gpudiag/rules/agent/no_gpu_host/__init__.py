"""The node has no NVIDIA GPU, and none is expected."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import NotMeasured, Window


@rule(severity="info", rank=STATE, confidence="proven")
def no_gpu_host(node: Window) -> Fires | None:
    """This host has no NVIDIA GPU and is not expected to have one."""
    snapshot = node.latest
    if snapshot is None or node.pasted or snapshot.gpus or node.expected_gpus or node.most_gpus:
        return None
    host = snapshot.host
    if host is None or host.pci_gpu_count is None:
        raise NotMeasured("host.pci_gpu_count")
    if host.pci_gpu_count > 0:
        return None
    return Fires((measured("gpus_on_bus", 0, source="sysfs"),))
