"""A small machine for tests that are no property tests."""

from __future__ import annotations

from typing import Any

from gpudiag.model import GpuReading, ProcessReading, Snapshot

GIB = 1 << 30
TAKEN = 1_764_400_000.0


def gpu(index: int = 0, **values: Any) -> GpuReading:
    """An idle H100 as a table shows it; `values` change it."""
    known: dict[str, Any] = {
        "name": "NVIDIA H100 80GB HBM3",
        "bus_id": f"00000000:{0x19 + index:02X}:00.0",
        "pstate": "P0",
        "utilization_percent": 0,
        "memory_used_bytes": 4 << 20,
        "memory_total_bytes": 81559 << 20,
        "temperature_celsius": 31,
        "power_watts": 70,
        "power_limit_watts": 700,
        "persistence_mode": True,
        "display_active": False,
        "mig_mode": False,
        "ecc_uncorrected_volatile": 0,
    }
    return GpuReading(index=index, **{**known, **values})


def machine(*gpus: GpuReading, at: float = 0.0, processes: tuple[ProcessReading, ...] = ()) -> Snapshot:
    """A machine, `at` seconds after a fixed moment."""
    return Snapshot(
        node="test", taken_at=TAKEN + at, driver_version="550.90.07", cuda_version="12.4", gpus=list(gpus),
        processes=list(processes),
    )  # fmt: skip
