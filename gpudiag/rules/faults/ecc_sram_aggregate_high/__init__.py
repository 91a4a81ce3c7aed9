"""Uncorrectable errors in SRAM over the card's life: more than spare rows can mend."""

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="warning", rank=MEMORY_ERROR, confidence="proven", maturity="experimental", given=("fault",))
def ecc_sram_aggregate_high(gpu: GpuWindow, *, max_errors: int = 4) -> Fires | None:
    """The driver's SRAM threshold is exceeded, or many SRAM errors were uncorrectable."""
    exceeded, count = gpu.reading.ecc_sram_threshold_exceeded, gpu.reading.ecc_sram_uncorrected_aggregate
    if exceeded is None and count is None:
        if gpu.reading.ecc_mode is False or gpu.reading.ecc_uncorrected_aggregate == 0:
            return None
        gpu.now("ecc_sram_uncorrected_aggregate")  # says why it is not there
    if not exceeded and (count or 0) <= max_errors:
        return None
    seen = [] if count is None else [measured("ecc_sram_uncorrected_aggregate", count)]
    if exceeded is not None:
        seen.append(measured("ecc_sram_threshold_exceeded", exceeded))
    return Fires(
        tuple(seen),
        confidence="proven" if exceeded else "likely",
        variant="flag" if exceeded else None,
    )
