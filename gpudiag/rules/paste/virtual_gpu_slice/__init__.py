"""A slice of a GPU: a vGPU guest, or a sharing layer that shows less memory than the card has."""

import re

from gpudiag.model import Evidence, GpuReading
from gpudiag.rule import STATE, Fires, inferred, measured, rule
from gpudiag.window import GpuWindow

PROFILE = re.compile(r"-(\d{1,3})([QCBA])$")  # the suffix of a vGPU type, such as T4-4C
CARD_GB = re.compile(r"\b(\d{2,3}) ?GB\b")
SUPERCHIP = re.compile(r"\bG[HB]\d{2,3}\b")  # their names count the memory of the CPU
BRANDS = ("virtual", "vws", "vpc", "vapps", "vcs", "vdws", "vgaming")


@rule(
    severity="info",
    rank=STATE,
    confidence="proven",
    maturity="experimental",
    given=("pasted",),
    explains=("hidden-memory",),
)
def virtual_gpu_slice(gpu: GpuWindow, *, max_share_of_card: float = 0.75) -> Fires | None:
    """This is a slice of a GPU: total, temperature and power are the slice's."""
    reading = gpu.reading
    if reading.error or reading.mig_mode or reading.mig_devices:
        return None
    guest = _is_guest(reading)
    limited = None if guest else _limited(reading, max_share_of_card)
    if not guest and limited is None:
        return None
    seen: list[Evidence] = [measured("gpu_name", reading.name or "vGPU", source="pasted text")]
    if reading.memory_total_bytes is not None:
        seen.append(measured("slice_total_bytes", reading.memory_total_bytes, source="pasted text"))
    if limited is not None:
        seen.append(inferred("card_total_bytes", limited))
        return Fires(tuple(seen), confidence="likely", variant="limit")
    return Fires(tuple(seen))


def _is_guest(reading: GpuReading) -> bool:
    if reading.virtualization == "vgpu" or PROFILE.search(reading.name or ""):
        return True
    brand = (reading.brand or "").lower()
    return any(word in brand for word in BRANDS)


def _limited(reading: GpuReading, max_share: float) -> int | None:
    """What the card has by its name, when far less is shown."""
    named = CARD_GB.search(reading.name or "")
    total = reading.memory_total_bytes
    if named is None or total is None or SUPERCHIP.search(reading.name or ""):
        return None
    card = int(named[1]) << 30
    return card if total < max_share * card else None
