"""Who holds the memory of one GPU.

The KV pool is one part with its filled share inside; what requests use is never added beside it. Parts that
exceed the total are shown as exceeding it.
"""

from __future__ import annotations

from gpudiag.model import EngineReading, LedgerPart, MemoryLedger
from gpudiag.window import GpuWindow, ProcessWindow

ROUNDING_BYTES = 64 << 20
"""Differences below this are rounding between the driver's views, and are not named."""


def ledger_of(gpu: GpuWindow) -> MemoryLedger | None:
    """The ledger of one GPU, or None when its memory was not read."""
    reading = gpu.reading
    if reading.memory_total_bytes is None and reading.memory_used_bytes is None:
        return None
    ledger = MemoryLedger(
        total_bytes=reading.memory_total_bytes,
        used_bytes=reading.memory_used_bytes,
        free_bytes=_free(gpu),
        driver_reserved_bytes=reading.memory_reserved_bytes,
    )
    ledger.parts = _parts(gpu, ledger)
    total = reading.memory_total_bytes
    if total is not None:
        held = sum(part.bytes for part in ledger.parts) + (reading.memory_reserved_bytes or 0)
        ledger.over_capacity_bytes = max(0, held - total)
    return ledger


def _free(gpu: GpuWindow) -> int | None:
    reading = gpu.reading
    if reading.memory_free_bytes is not None:
        return reading.memory_free_bytes
    if reading.memory_total_bytes is None or reading.memory_used_bytes is None:
        return None
    return max(
        0, reading.memory_total_bytes - reading.memory_used_bytes - (reading.memory_reserved_bytes or 0)
    )


def _parts(gpu: GpuWindow, ledger: MemoryLedger) -> list[LedgerPart]:
    parts: list[LedgerPart] = []
    unknown = False
    seen = 0
    engine_pids = set()
    for engine in gpu.engines:
        reading = engine.reading
        mine = [p for p in gpu.processes if p.reading.pid in {reading.pid, *(reading.worker_pids or ())}]
        engine_pids |= {process.reading.pid for process in mine}
        held = [process.memory_on(gpu.index) for process in mine]
        known = [value for value in held if value is not None]
        seen += sum(known)
        unknown |= len(known) < len(held)
        parts += _engine_parts(reading, sum(known) if known else None)
    for process in gpu.processes:
        if process.reading.pid in engine_pids:
            continue
        memory = process.memory_on(gpu.index)
        if memory is None:
            unknown |= any(use.gpu == gpu.index for use in process.reading.gpus or ())
            continue
        seen += memory
        if memory:
            parts.append(
                LedgerPart(part="other_process", bytes=memory, kind="measured", owner=owner_of(process))
            )
    if ledger.used_bytes is not None and not unknown:
        rest = ledger.used_bytes - max(seen, sum(part.bytes for part in parts))
        if rest > ROUNDING_BYTES:
            parts.append(LedgerPart(part="unaccounted", bytes=rest, kind="calculated"))
    return parts


def _engine_parts(reading: EngineReading, held: int | None) -> list[LedgerPart]:
    """Weights, pool and the rest of one engine's process memory on one GPU."""
    parts: list[LedgerPart] = []
    pool = reading.pool_bytes
    if reading.weights_bytes is not None:
        parts.append(
            LedgerPart(part="weights", bytes=reading.weights_bytes, kind="calculated", owner=reading.name)
        )
    if pool is not None:
        filled = None if reading.kv_used_ratio is None else round(pool * reading.kv_used_ratio)
        parts.append(
            LedgerPart(part="kv_pool", bytes=pool, kind="measured", owner=reading.name, filled_bytes=filled)
        )
    if held is not None:
        rest = held - sum(part.bytes for part in parts)
        if rest > 0 and parts:
            parts.append(LedgerPart(part="runtime", bytes=rest, kind="calculated", owner=reading.name))
        elif rest > 0:
            parts.append(LedgerPart(part="other_process", bytes=rest, kind="measured", owner=reading.name))
    return parts


def owner_of(process: ProcessWindow) -> str:
    """Who a process belongs to, in one short phrase: its job, pod or user, and its pid."""
    reading = process.reading
    name = reading.name or "unnamed process"
    where = (
        f"pod {reading.namespace}/{reading.pod}"
        if reading.pod and reading.namespace
        else f"pod {reading.pod}"
        if reading.pod
        else f"Slurm job {reading.slurm_job}"
        if reading.slurm_job
        else f"user {reading.user}"
        if reading.user
        else None
    )
    return f"{name} (pid {reading.pid}{', ' + where if where else ''})"
