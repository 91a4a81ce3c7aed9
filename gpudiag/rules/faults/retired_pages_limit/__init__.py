"""An older GPU has retired about as many pages as it can."""

from gpudiag.rule import MEMORY_ERROR, Fires, calculated, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="critical", rank=MEMORY_ERROR, confidence="proven", given=("fault",))
def retired_pages_limit(gpu: GpuWindow, *, max_pages: int = 63, max_double_bit: int = 15) -> Fires | None:
    """Too many pages are retired, or many of them after double-bit errors."""
    single, double = gpu.reading.retired_pages_single_bit, gpu.reading.retired_pages_double_bit
    if single is None and double is None:
        if gpu.reading.row_remap_pending is not None:
            return None  # row remapping has replaced page retirement on this GPU
        gpu.now("retired_pages_double_bit")
    total = (single or 0) + (double or 0)
    many_double = (double or 0) >= max_double_bit
    if total < max_pages and not many_double:
        return None
    return Fires(
        (
            calculated("retired_pages", total, of=max_pages + 1),
            measured("retired_pages_double_bit", double if double is not None else "?"),
        ),
        severity="critical" if total >= max_pages else "warning",
        variant=None if total >= max_pages else "double-bit",
    )
