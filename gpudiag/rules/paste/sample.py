"""Pasted samples for the cases of this family, told in a few words."""

from __future__ import annotations

from typing import Any

from gpudiag.model import Gap, GpuReading, GpuUse, PasteReading, ProcessReading, Snapshot
from gpudiag.window import Window

GIB = 1 << 30
TAKEN = 1_764_400_000.0


def shown(index: int = 0, **values: Any) -> GpuReading:
    """What a table shows of an idle, empty GPU of 24 GiB; `values` change it."""
    known: dict[str, Any] = {
        "name": "NVIDIA GeForce RTX 4090",
        "bus_id": f"00000000:{0x41 + index:02X}:00.0",
        "utilization_percent": 0.0,
        "memory_used_bytes": 2 << 20,
        "memory_total_bytes": 24 * GIB,
        "temperature_celsius": 35.0,
        "power_watts": 20.0,
        "power_limit_watts": 450.0,
        "pstate": "P8",
        "fan_percent": 30.0,
        "persistence_mode": True,
        "compute_mode": "default",
    }
    return GpuReading(index=index, **{**known, **values})


def runs(pid: int = 4242, name: str = "python", gpu: int = 0, **use: Any) -> ProcessReading:
    """One process row."""
    return ProcessReading(pid=pid, name=name, in_nvml=True, gpus=[GpuUse(gpu=gpu, **{"type": "C", **use})])


def sample(
    *gpus: GpuReading,
    processes: tuple[ProcessReading, ...] = (),
    gaps: dict[str, dict[str, str]] | None = None,
    **paste: Any,
) -> Window:
    """A window of one pasted sample. `gaps` is {subject: {metric: reason}}."""
    window = Window("pasted")
    listed = "listed" if processes else "none"
    window.add(
        Snapshot(
            node="pasted",
            taken_at=TAKEN,
            source="pasted",
            gpus=list(gpus),
            processes=list(processes),
            gaps=[
                Gap(subject=subject, metric=metric, reason=reason)
                for subject, metrics in (gaps or {}).items()
                for metric, reason in metrics.items()
            ],
            paste=PasteReading(
                **{"formats": ["table"], "gpus_whole": len(gpus), "process_list": listed, **paste}
            ),
        )
    )
    return window
