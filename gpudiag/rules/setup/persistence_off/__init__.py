"""The driver unloads a GPU's state when nobody uses it: the next first use waits."""

import re

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import W30, GpuWindow, NotMeasured

DATA_CENTRE = re.compile(r"\b(?:[ABHLTVP]\d{1,3}0?[LXS]?|GH\d+|GB\d+|Tesla|RTX (?:A|PRO )?\d{4} Ada|DGX)\b")


@rule(severity="info", rank=HINT, confidence="proven", given=("adjusted",))
def persistence_off(gpu: GpuWindow, *, max_first_call_seconds: float = 1.0) -> Fires | None:
    """Persistence mode is off on a server's GPU that rests between jobs."""
    reading, node = gpu.reading, gpu.node
    if reading.driver_model is not None or reading.display_active or reading.virtualization == "vgpu":
        return None
    if reading.persistence_mode is None and not DATA_CENTRE.search(reading.name or ""):
        return None
    if gpu.now("persistence_mode"):
        return None
    if any(workload.kind == "desktop" for workload in gpu.workloads):
        return None
    nvml = node.latest.nvml if node.latest else None
    waited = nvml.first_call_seconds if nvml else None
    slow = waited is not None and waited > max_first_call_seconds
    if not slow and not _rests(gpu):
        return None
    evidence = [measured("persistence_mode", False)]
    if slow and waited is not None:
        evidence.append(measured("first_call_seconds", waited))
    return Fires(tuple(evidence), variant="slow" if slow else None)


def _rests(gpu: GpuWindow) -> bool:
    """Whether nobody holds it, so that the driver lets go of it: for half an hour, or in a pasted sample."""
    if gpu.processes or not DATA_CENTRE.search(gpu.reading.name or ""):
        return False
    if gpu.node.pasted:
        return True
    try:
        return gpu.covers(W30) and gpu.share("quiet", W30) == 1.0
    except NotMeasured:
        return False
