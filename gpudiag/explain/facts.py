"""Facts as every answer writes them: numbers, names and moments, in no language."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from gpudiag.model import GpuReading, Kind, MemoryLedger, ProcessReading, Snapshot
from gpudiag.words.foreign import plain
from gpudiag.workloads import workload_of

READINGS = (
    "memory_used_bytes", "memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes",
    "utilization_percent", "memory_utilization_percent", "temperature_celsius", "power_watts",
    "power_limit_watts", "pstate", "sm_clock_megahertz", "sm_clock_max_megahertz", "clocks_event_reasons",
    "fan_percent", "encoder_percent", "decoder_percent", "sm_active_ratio", "dram_active_ratio",
    "pcie_link_generation", "pcie_link_generation_max", "pcie_link_width", "pcie_link_width_max",
    "ecc_corrected_volatile", "ecc_uncorrected_volatile", "ecc_uncorrected_aggregate", "row_remap_pending",
    "row_remap_failed", "persistence_mode", "compute_mode", "mig_mode", "recovery_action",
)  # fmt: skip
"""Keys of `readings`: always there, null where not known."""


def identity_json(reading: GpuReading | None) -> dict[str, Any]:
    """Which GPU it is."""
    return {name: shown(getattr(reading, name, None)) for name in ("uuid", "bus_id", "name")}


def readings_json(reading: GpuReading | None) -> dict[str, Any]:
    """What was read of a GPU, with every key there."""
    return {
        "readings": {name: shown(getattr(reading, name, None)) for name in READINGS},
        "mig_devices": [
            {name: shown(value) for name, value in msgspec.to_builtins(mig).items()}
            for mig in (reading and reading.mig_devices) or ()
        ],
    }


def processes_json(snapshot: Snapshot, gpu: int) -> list[dict[str, Any]]:
    """The processes on one GPU, those that hold most of it first."""
    found = []
    for process in snapshot.processes:
        uses = [use for use in process.gpus or () if use.gpu == gpu]
        if not uses and gpu not in (process.open_devices or ()):
            continue
        known = [use.memory_used_bytes for use in uses if use.memory_used_bytes is not None]
        found.append(_process_json(process, sum(known) if known else None, uses[0].type if uses else None))
    return sorted(found, key=lambda process: -(process["memory_used_bytes"] or 0))


def _process_json(process: ProcessReading, memory: int | None, type_: str | None) -> dict[str, Any]:
    """One process as the diagnosis lists it."""
    workload = workload_of(process)
    return {
        "pid": process.pid,
        "name": shown(process.name),
        "command": shown(process.command),
        "user": shown(process.user),
        "memory_used_bytes": memory,
        "type": shown(type_),
        "kind": workload.kind,
        "engine": workload.engine,
        "owner": _owner(process),
        "state": shown(process.state),
        "parent_pid": process.parent_pid,
        "parent_name": shown(process.parent_name),
        "started_at": iso(process.started_at),
        "container": shown(process.container),
        "pod": shown(process.pod),
        "namespace": shown(process.namespace),
        "slurm_job": shown(process.slurm_job),
        "unit": shown(process.unit),
    }


def _owner(process: ProcessReading) -> str | None:
    """Pod, Slurm job, unit or user, whichever says most."""
    if process.pod:
        return plain(f"{process.namespace}/{process.pod}" if process.namespace else process.pod)
    for prefix, value in (("Slurm job ", process.slurm_job), ("", process.unit), ("", process.user)):
        if value:
            return plain(f"{prefix}{value}")
    return None


def ledger_json(ledger: MemoryLedger | None, simulated: bool = False) -> dict[str, Any] | None:
    """The ledger with every key there, null where not known."""
    if ledger is None:
        return None
    return {
        "total_bytes": ledger.total_bytes,
        "used_bytes": ledger.used_bytes,
        "free_bytes": ledger.free_bytes,
        "driver_reserved_bytes": ledger.driver_reserved_bytes,
        "parts": [
            {
                "part": part.part,
                "bytes": part.bytes,
                "filled_bytes": part.filled_bytes,
                "expected_bytes": part.expected_bytes,
                "kind": kind_of(part.kind, simulated),
                "owner": shown(part.owner),
            }
            for part in ledger.parts
        ],
        "over_capacity_bytes": ledger.over_capacity_bytes,
        "disagreement_ratio": ledger.disagreement_ratio,
    }


def kind_of(kind: Kind, simulated: bool) -> Kind:
    """What the simulator made is not measured; what is calculated of that is calculated still."""
    return "simulated" if simulated and kind == "measured" else kind


def shown(value: Any) -> Any:
    """A value as surfaces may show it: an empty text says nothing."""
    return (plain(value) if value else None) if isinstance(value, str) else value


@lru_cache(maxsize=4096)  # a fleet's list writes the same moments each time
def iso(at: float | None) -> str | None:
    """A moment in UTC, as every answer writes it."""
    if at is None or not 0 <= at < 1e11:
        return None  # no year that a calendar has
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
