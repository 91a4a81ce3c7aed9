"""Who holds the memory of one GPU.

The KV pool is one part with its filled share inside; what requests use is never added beside it. Parts that
exceed the total are shown as exceeding it. On a node with a known engine and model it closes: weights, pool,
runtime, other programs and the driver's reserve add up to what is used, and the rest is named.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from gpudiag.kv import KvError, Question, calculate
from gpudiag.model import EngineReading, Kind, LedgerPart, MemoryLedger
from gpudiag.window import GpuWindow, ProcessWindow

ROUNDING_BYTES = 64 << 20
"""Differences below this are rounding between the driver's views, and are not named."""
MOST_RUNTIME = 6 << 30
"""More than this beside weights and pool is no runtime any more: the weights were calculated wrong."""


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
    engine_pids: set[int | None] = set()
    for engine in gpu.engines:
        reading = engine.reading
        mine = [p for p in gpu.processes if p.reading.pid in {reading.pid, *(reading.worker_pids or ())}]
        engine_pids |= {process.reading.pid for process in mine}
        held = [process.memory_on(gpu.index) for process in mine]
        unknown |= None in held
        known = [value for value in held if value is not None]
        share = _Share.of(reading)
        parts += share.parts(sum(known) if known else None)
        if ledger.disagreement_ratio is None:
            ledger.disagreement_ratio = share.disagreement(sum(known) if known else None)
    for process in gpu.processes:
        if process.reading.pid in engine_pids:
            continue
        memory = process.memory_on(gpu.index)
        if memory is None:
            unknown |= any(use.gpu == gpu.index for use in process.reading.gpus or ())
        elif memory:
            parts.append(
                LedgerPart(part="other_process", bytes=memory, kind="measured", owner=owner_of(process))
            )
    if ledger.used_bytes is not None and not unknown:
        rest = ledger.used_bytes - sum(part.bytes for part in parts)
        if rest > ROUNDING_BYTES:
            parts.append(LedgerPart(part="unaccounted", bytes=rest, kind="calculated"))
    return parts


class _Share(NamedTuple):
    """What one engine keeps on each of its GPUs, as far as it is known."""

    name: str
    weights: int | None
    pool: int | None
    pool_kind: Kind
    pool_expected: int | None
    filled: int | None

    @classmethod
    def of(cls, reading: EngineReading) -> _Share:
        weights, rate = _from_the_model(reading)
        tokens = reading.pool_tokens
        if tokens is None and reading.pool_blocks is not None and reading.block_size is not None:
            tokens = reading.pool_blocks * reading.block_size
        counted = tokens * rate if tokens is not None and rate is not None else None
        pool = reading.pool_bytes if reading.pool_bytes is not None else counted
        if reading.sleeping:
            weights = pool = counted = None  # it gave them back; what it still holds is measured
        used = reading.kv_used_ratio
        return cls(
            name=reading.name,
            weights=weights,
            pool=pool,
            pool_kind="measured" if reading.pool_bytes is not None else "calculated",
            pool_expected=counted if reading.pool_bytes is not None else None,
            filled=round(pool * used) if pool is not None and used is not None and 0 <= used <= 1 else None,
        )

    def parts(self, held: int | None) -> list[LedgerPart]:
        """Weights, pool and the rest of what its processes hold on one GPU."""
        found: list[LedgerPart] = []
        rest = None if held is None else held - (self.pool or 0)
        if self.weights is not None:
            if rest is not None and self.pool is not None and 0 < rest < self.weights:
                # more was calculated than is there: what is there counts
                found.append(
                    LedgerPart(
                        part="weights",
                        bytes=rest,
                        kind="inferred",
                        owner=self.name,
                        expected_bytes=self.weights,
                    )
                )
            else:
                found.append(
                    LedgerPart(part="weights", bytes=self.weights, kind="calculated", owner=self.name)
                )
        if self.pool is not None:
            found.append(
                LedgerPart(
                    part="kv_pool",
                    bytes=self.pool,
                    kind=self.pool_kind,
                    owner=self.name,
                    filled_bytes=self.filled,
                    expected_bytes=self.pool_expected,
                )
            )
        left = 0 if held is None else held - sum(part.bytes for part in found)
        if left > 0:
            part: Literal["runtime", "other_process"] = "runtime" if found else "other_process"
            kind: Kind = "calculated" if found else "measured"
            found.append(LedgerPart(part=part, bytes=left, kind=kind, owner=self.name))
        return found

    def disagreement(self, held: int | None) -> float | None:
        """How far the calculated is from what is there: the pool by its tokens, the weights beside it."""
        found = []
        if self.pool and self.pool_expected is not None:
            found.append(abs(self.pool - self.pool_expected) / self.pool)
        if held is not None and self.weights and self.pool is not None and held > self.pool:
            there = held - self.pool
            if there < self.weights:
                found.append(self.weights / there - 1)
            elif there - self.weights > max(MOST_RUNTIME, self.weights / 2):
                found.append(there / self.weights - 1)
        return round(max(found), 3) if found else None


def _from_the_model(reading: EngineReading) -> tuple[int | None, int | None]:
    """(weights, KV bytes a token) on each GPU: what the engine tells, else by the catalogue's model."""
    if reading.model is None:
        return reading.weights_bytes, None
    gpus, replicas = len(reading.gpus or ()) or 1, reading.replicas or 1
    tp = reading.tensor_parallel or max(1, gpus // replicas)
    weights, rate = _calculated(reading.model, tp, reading.kv_dtype or "auto")
    return (reading.weights_bytes if reading.weights_bytes is not None else weights), rate


@lru_cache(maxsize=256)
def _calculated(model: str, tp: int, kv_dtype: str) -> tuple[int | None, int | None]:
    """Weights and bytes a token of a model of the catalogue on one GPU; nothing for other models."""
    try:
        answer = calculate(Question.from_mapping({"model": model, "tp": str(tp), "kv_dtype": kv_dtype}))
    except KvError:
        return None, None
    known = answer.as_json()
    return known["weights_bytes"], known["bytes_per_token"]


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
