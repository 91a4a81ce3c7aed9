"""The node has no NVIDIA GPU, and none is expected."""

from gpudiag.model import HostReading
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import NotMeasured, Window


@rule(severity="info", rank=STATE, confidence="proven")
def no_gpu_host(node: Window) -> Fires | None:
    """This host has no NVIDIA GPU and is not expected to have one."""
    snapshot = node.latest
    if snapshot is None or node.pasted or snapshot.gpus or node.due_gpus:
        return None
    host = snapshot.host
    if host is None or host.pci_gpu_count is None:
        raise NotMeasured("host.pci_gpu_count")
    if host.pci_gpu_count > 0:
        return None
    on_bus = measured("gpus_on_bus", 0, source="sysfs")
    if node.expected_gpus is None and _driver_is_loaded(host):
        return Fires((on_bus,), severity="warning", confidence="likely", variant="driver-loaded")
    return Fires((on_bus,))


def _driver_is_loaded(host: HostReading) -> bool:
    """NVIDIA's kernel module is there: it loads where it finds a card, an NVSwitch or a Jetson's display."""
    modules = host.modules or ()
    return "nvidia" in modules and "nvgpu" not in modules and not host.nvswitches
