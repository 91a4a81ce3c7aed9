"""What must not wait: signs by which a node is judged at once, and otherwise every fourth snapshot.

Patterns over minutes do not change within seconds, and judging is the dearest part of a report. A fault, a
process that comes or goes, an engine that stops answering, memory or load that moves: each changes the signs.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter

from gpudiag.model import CLOCKS_EVENT, GpuReading
from gpudiag.window import EngineWindow, Window

CALM_SECONDS = 35.0
"""A node whose signs stay the same is judged again after so long, in its own time."""

_FIELDS = attrgetter(
    "error", "ecc_uncorrected_volatile", "ecc_uncorrected_aggregate", "ecc_sram_uncorrected_aggregate",
    "remapped_rows_uncorrectable", "row_remap_pending", "row_remap_failed", "retired_pages_double_bit",
    "retired_pages_pending", "recovery_action", "mig_mode", "persistence_mode", "compute_mode",
    "pcie_link_width", "power_limit_watts", "fabric_state", "inforom_corrupted",
)  # fmt: skip
_SLOWDOWNS = sum(CLOCKS_EVENT[name] for name in ("hw_slowdown", "hw_thermal", "sw_thermal", "power_brake"))


NEVER_CALM = 0


def signs_of(window: Window) -> int:
    """The signs of the newest snapshot as a digest; NEVER_CALM where it has to be judged in any case."""
    latest = window.latest
    if latest is None or latest.events:
        return NEVER_CALM
    nvml, host = latest.nvml, latest.host
    signs = (
        tuple((gpu.present, _FIELDS(gpu.reading), *_steps(gpu.reading)) for gpu in window.gpus.values()),
        tuple((process.reading.pid, process.reading.state in ("D", "Z", "gone"))
              for process in window.processes.values()),
        tuple(_of_engine(engine) for engine in window.engines.values()),
        (nvml.error, nvml.silent_seconds is None, nvml.released) if nvml else None,
        (host.boot_id, host.pci_gpu_count) if host else None,
        len(latest.gaps),
        latest.driver_version,
        window.catches_up,
    )  # fmt: skip
    return hash(signs) or 1


def _steps(reading: GpuReading) -> tuple[int, int, int, int]:
    """Load, memory, heat and clocks in coarse steps."""
    load, used, total = reading.utilization_percent, reading.memory_used_bytes, reading.memory_total_bytes
    return (
        -1 if load is None else (load > 1.0) + (load > 5.0),
        -1 if used is None or not total else 20 * used // total,
        (reading.clocks_event_reasons or 0) & _SLOWDOWNS,
        -1 if reading.temperature_celsius is None else int(min(reading.temperature_celsius, 1e6)) // 8,
    )


def _of_engine(engine: EngineWindow) -> tuple[Hashable, ...]:
    reading = engine.reading
    return (
        reading.name,
        reading.pid,
        reading.metrics_ok,
        reading.health_ok,
        reading.port_open,
        reading.sleeping,
        bool(reading.requests_running),
        bool(reading.requests_waiting),
    )
