"""Who holds the memory of one GPU.

The KV pool is one part with its filled share inside; what requests use is never added beside it. Parts that
exceed the total are shown as exceeding it. On a node with a known engine and model it closes: weights, pool,
runtime, other programs and the driver's reserve add up to what is used, and the rest is named.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from gpudiag.kv import Answer, KvError, Question, calculate
from gpudiag.kv.engines import ENGINES
from gpudiag.kv.layers import Attention, Latent
from gpudiag.model import EngineReading, Kind, LedgerPart, MemoryLedger, ProcessReading
from gpudiag.owners import job_of
from gpudiag.window import EngineWindow, GpuWindow

ROUNDING_BYTES = 64 << 20
"""Differences below this are rounding between the driver's views, and are not named."""
GGUF_ENGINES = ("llama.cpp", "ollama")
"""They serve files whose quantisation the model's name does not tell: weights are not calculated by it."""
DISAGREES = 0.05
"""Calculated and measured memory that are further apart than this are named."""
MOST_RUNTIME = 6 << 30
"""More than this beside weights and pool is no runtime any more: the weights were calculated wrong."""


def ledger_of(gpu: GpuWindow) -> MemoryLedger | None:
    """The ledger of one GPU, or None when its memory was not read."""
    reading = gpu.reading
    if reading.memory_total_bytes is None and reading.memory_used_bytes is None:
        return None
    engines = [_Holding.of(engine, gpu) for engine in gpu.engines]
    ratios = [one.share.disagreement(one.bytes) for one in engines]
    ledger = MemoryLedger(
        total_bytes=reading.memory_total_bytes,
        used_bytes=reading.memory_used_bytes,
        free_bytes=_free(gpu),
        driver_reserved_bytes=reading.memory_reserved_bytes,
        parts=_parts(gpu, engines),
        disagreement_ratio=max((ratio for ratio in ratios if ratio is not None), default=None),
    )
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


def _parts(gpu: GpuWindow, engines: list[_Holding]) -> list[LedgerPart]:
    """The engines' shares, other programs, and what is left where all that is listed is known."""
    parts = [part for one in engines for part in one.share.parts(one.bytes)]
    known = all(one.known for one in engines)
    theirs: set[int | None] = set().union(*[one.pids for one in engines])
    for process in gpu.processes:
        if process.reading.pid in theirs:
            continue
        memory = process.memory_on(gpu.index)
        if memory is None:
            known &= all(use.gpu != gpu.index for use in process.reading.gpus or ())
        elif memory:
            owner = _called(process.reading)
            parts.append(LedgerPart(part="other_process", bytes=memory, kind="measured", owner=owner))
    used = gpu.reading.memory_used_bytes
    if used is not None and known:
        rest = used - sum(part.bytes for part in parts)
        if rest > ROUNDING_BYTES:
            parts.append(LedgerPart(part="unaccounted", bytes=rest, kind="calculated"))
    return parts


class _Holding(NamedTuple):
    """What an engine's processes hold on one GPU, as far as the driver tells; `known`: of each of them."""

    share: _Share
    pids: set[int | None]
    bytes: int | None
    known: bool

    @classmethod
    def of(cls, engine: EngineWindow, gpu: GpuWindow) -> _Holding:
        pids = engine.pids
        held = [process.memory_on(gpu.index) for process in gpu.processes if process.reading.pid in pids]
        told = [value for value in held if value is not None]
        return cls(_Share.of(engine.reading), pids, sum(told) if told else None, len(told) == len(held))


class _Share(NamedTuple):
    """What one engine keeps on each of its GPUs, as far as it is known."""

    name: str
    weights: int | None
    weights_kind: Kind
    weights_expected: int | None
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
        told, pool = reading.weights_bytes, reading.pool_bytes
        used = reading.kv_used_ratio
        if reading.sleeping:
            weights = told = pool = counted = None  # it gave them back; what it still holds is measured
        size = counted if pool is None else pool
        return cls(
            name=reading.name,
            weights=weights if told is None else told,
            weights_kind="calculated" if told is None else "measured",
            weights_expected=None if told is None else weights,
            pool=size,
            pool_kind="calculated" if pool is None else "measured",
            pool_expected=None if pool is None else counted,
            filled=round(size * used) if size is not None and used is not None and 0 <= used <= 1 else None,
        )

    def parts(self, held: int | None) -> list[LedgerPart]:
        """Weights, pool and the rest of what its processes hold on one GPU."""
        found: list[LedgerPart] = []
        if self.weights is not None:
            found.append(self._weights(None if held is None else held - (self.pool or 0)))
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

    def _weights(self, beside_the_pool: int | None) -> LedgerPart:
        """Where more was calculated than is there, what is there counts."""
        weights, kind, expected = self.weights or 0, self.weights_kind, self.weights_expected
        if kind != "measured" and self.pool is not None and 0 < (beside_the_pool or 0) < weights:
            weights, kind, expected = beside_the_pool or 0, "inferred", weights
        return LedgerPart(part="weights", bytes=weights, kind=kind, owner=self.name, expected_bytes=expected)

    def disagreement(self, held: int | None) -> float | None:
        """How far the calculated is from what is there: pool and weights as told, and all of it as held."""
        pairs = ((self.pool, self.pool_expected), (self.weights, self.weights_expected))
        found = [abs(told - counted) / told for told, counted in pairs if told and counted is not None]
        calculated = "calculated" in (self.weights and self.weights_kind, self.pool and self.pool_kind)
        if held and calculated:
            found.append(self._off_by(held))
        return round(max(found), 3) if found else None

    def _off_by(self, held: int) -> float:
        """The same where only what the processes hold can be compared with."""
        weights, pool = self.weights or 0, self.pool or 0
        there = held - pool  # beside the pool: weights and a runtime
        if weights and there > 0:
            if there < weights:
                return weights / there - 1
            excess = there - weights > max(MOST_RUNTIME, weights / 2)
            return there / weights - 1 if excess and pool and self.weights_kind == "calculated" else 0.0
        return max(0.0, (weights + pool) / held - 1)


def _from_the_model(reading: EngineReading) -> tuple[int | None, int | None]:
    """(weights, KV bytes a token) on each GPU, calculated from the model's name; None where not known."""
    gpus, replicas = len(reading.gpus or ()) or 1, reading.replicas or 1
    tp = reading.tensor_parallel or max(1, gpus // replicas)
    if gpus > tp * replicas:
        return None, None  # split in stages or replicated, which is not told
    for model in (reading.model_path, reading.model):  # a server may call its model as it likes
        found = _calculated(model, reading.engine, tp, reading.kv_dtype or "auto") if model else (None, None)
        if found != (None, None):
            return found
    return None, None


@lru_cache(maxsize=256)
def _calculated(model: str, engine: str, tp: int, kv_dtype: str) -> tuple[int | None, int | None]:
    """Weights and bytes a token of a model of the catalogue on one GPU; nothing for other models."""
    asked = {"model": _plain_name(model), "tp": tp, "engine": engine if engine in ENGINES else None}
    try:
        weights = calculate(Question.from_mapping(asked)).weights_bytes
    except KvError:
        return None, None
    known = None if engine in GGUF_ENGINES else weights
    try:
        answer = calculate(Question.from_mapping({**asked, "kv_dtype": kv_dtype}))
    except KvError:  # a dtype that this program does not know
        return known, None
    return known, answer.bytes_per_token if _grows_evenly(answer) else None


def _grows_evenly(answer: Answer) -> bool:
    """Whether every token of every sequence takes the same. Windows and states do not grow with tokens:
    the tokens that a server states for such a model are no capacity.
    """
    parts = answer.model.shape.parts()
    return all(isinstance(part, (Attention, Latent)) and not getattr(part, "window", None) for part in parts)


def _plain_name(model: str) -> str:
    """The hub's name of a model that is served from the hub's cache; any other name as it is."""
    for folder in model.split("/"):
        if folder.startswith("models--"):
            return folder.removeprefix("models--").replace("--", "/")
    return model.rstrip("/")


def _called(process: ProcessReading) -> str:
    """A process in one short phrase: its name, its pid, and its pod, job or user."""
    whose = job_of(process) or (f"user {process.user}" if process.user else None)
    return f"{process.name or 'unnamed process'} (pid {process.pid}{', ' + whose if whose else ''})"
