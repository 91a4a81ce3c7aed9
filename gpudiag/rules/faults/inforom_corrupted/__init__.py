"""The card's own memory of itself (InfoROM) is damaged."""

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="warning", rank=MEMORY_ERROR, confidence="proven", given=("adjusted",))
def inforom_corrupted(gpu: GpuWindow) -> Fires | None:
    """The driver says that the InfoROM is corrupted."""
    if gpu.reading.inforom_corrupted is None and gpu.node.pasted:
        return None  # tools print a warning where there is one, and nothing where there is none
    if not gpu.now("inforom_corrupted"):
        return None
    return Fires((measured("inforom_corrupted", True),))
