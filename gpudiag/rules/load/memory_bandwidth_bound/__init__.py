"""Generating tokens is limited by how fast memory can be read: as expected."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import W5, GpuWindow


@rule(
    severity="ok",
    rank=STATE,
    maturity="experimental",
    given=("working", "engine"),
    explains=("busy-but-inefficient", "healthy-busy"),
)
def memory_bandwidth_bound(
    gpu: GpuWindow, *, min_dram_ratio: float = 0.60, max_tensor_ratio: float = 0.30
) -> Fires | None:
    """Decoding is limited by memory bandwidth."""
    reading = gpu.reading
    if reading.dram_active_ratio is None:
        return None  # the units cannot be looked at: busy-but-inefficient says so
    if reading.dram_active_ratio < min_dram_ratio or (reading.tensor_active_ratio or 0.0) >= max_tensor_ratio:
        return None
    running = [e for e in gpu.engines if e.reading.requests_running]
    if not running:
        return None
    gpu.require(W5)
    dram = gpu.over("dram_active_ratio", W5).mean
    if dram < min_dram_ratio or gpu.over("tensor_active_ratio", W5).mean >= max_tensor_ratio:
        return None
    return Fires(
        (
            measured("dram_active_ratio", round(dram, 2), window=W5),
            measured("tensor_active_ratio", round(gpu.over("tensor_active_ratio", W5).mean, 2), window=W5),
            measured(
                "requests_running",
                sum(e.now("requests_running") for e in running),
                source=running[0].reading.name,
            ),
        )
    )
