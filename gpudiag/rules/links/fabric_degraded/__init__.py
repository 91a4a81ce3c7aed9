"""The fabric is up, and its health mask complains."""

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="warning", rank=MEMORY_ERROR, confidence="proven", given=("linked",))
def fabric_degraded(gpu: GpuWindow) -> Fires | None:
    """The fabric's health mask reports less bandwidth, a bad route or a wrong configuration."""
    if gpu.reading.fabric_state != "completed":
        return None
    complaints = gpu.reading.fabric_health
    if complaints is None:
        if gpu.node.gap(f"gpu:{gpu.index}", "fabric_health") in (None, "not_supported"):
            return None  # drivers without the mask
        gpu.now("fabric_health")
    if not complaints:
        return None
    return Fires((measured("fabric_health", ", ".join(complaints)),))
