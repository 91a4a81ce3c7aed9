"""The GPU refuses a second process, or every process."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import GpuWindow

MPS = "nvidia-cuda-mps"


@rule(severity="info", rank=HINT, confidence="proven", given=("adjusted",))
def compute_mode_exclusive(gpu: GpuWindow) -> Fires | None:
    """The compute mode is exclusive or prohibited."""
    if gpu.reading.compute_mode is None and gpu.node.pasted and gpu.reading.driver_model == "wddm":
        return None
    mode = gpu.now("compute_mode")
    if mode == "default":
        return None
    if mode == "prohibited":
        return Fires((measured("compute_mode", mode),), severity="warning", variant="prohibited")
    if any(MPS in f"{p.reading.name or ''} {p.reading.command or ''}" for p in gpu.node.processes.values()):
        return None
    return Fires((measured("compute_mode", mode),))
