"""What decides was not visible: the verdict that is given where nothing else can be."""

from gpudiag.rule import BLIND, Fires, rule
from gpudiag.window import W5, GpuWindow


@rule(severity="unknown", rank=BLIND)
def not_enough_evidence(gpu: GpuWindow, *, span_seconds: float = W5) -> Fires | None:
    """What decides was not visible.

    It never fires: a verdict is no finding beside proven ones. It cannot tell, and says what is missing.
    """
    reading = gpu.reading
    if reading.error or not gpu.present:
        return None  # a fault is evidence enough
    if not (reading.mig_mode or reading.mig_devices):
        gpu.now("utilization_percent")
    gpu.now("memory_used_bytes")
    if not gpu.node.pasted:
        gpu.require(span_seconds)
    return None
