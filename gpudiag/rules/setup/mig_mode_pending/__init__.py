"""A change of MIG mode waits for a reset."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="info", rank=HINT, confidence="proven", given=("adjusted",))
def mig_mode_pending(gpu: GpuWindow) -> Fires | None:
    """The MIG mode now differs from the one after the next reset."""
    now, pending = gpu.reading.mig_mode, gpu.reading.mig_mode_pending
    if now is None:
        if gpu.node.gap(f"gpu:{gpu.index}", "mig_mode") in (None, "not_supported"):
            return None  # a GPU without MIG, or a text that does not tell
        gpu.now("mig_mode")
    if pending is None or pending == now:
        return None
    return Fires(
        (measured("mig_mode", bool(now)), measured("mig_mode_pending", pending)),
        variant=None if pending else "off",
    )
