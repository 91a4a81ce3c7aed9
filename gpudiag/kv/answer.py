"""From a question to its answer: reads the shape, asks the engine, and keeps every number with its kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from gpudiag.kv import catalogue
from gpudiag.kv.cache import Stage, if_every_head_had_its_own, rate, stages
from gpudiag.kv.config import Config, open_config
from gpudiag.kv.dtypes import GGUF_RECIPES, CacheDtype, cache_dtype
from gpudiag.kv.engines import engine_class
from gpudiag.kv.engines.base import Budget, Engine, Setup
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Attention, Latent
from gpudiag.kv.note import Note, note
from gpudiag.kv.question import GIB, Question
from gpudiag.kv.shape import ModelShape, read_shape
from gpudiag.kv.weights import Format, WeightCount, weight_format

DEFAULT_TOKENS = 8192
MOST_TOKENS = 100_000_000


class Model(NamedTuple):
    """A model that was read: what it is called, its geometry and weights, and where they come from."""

    name: str
    config: Config
    shape: ModelShape
    weights: WeightCount
    source: str
    verified: bool = True
    named_weights: str | None = None


class Alternatives(NamedTuple):
    """What would change the answer; None where it does not apply."""

    smallest_tp: int | None
    smallest_gpu: str | None
    fp8_total_bytes: int | None
    fp8_largest_batch: int | None
    mha_total_bytes: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers, all bytes per GPU. `budget` is None when neither GPU nor pool is known."""

    question: Question
    model: Model
    engine: Engine
    weights_format: Format
    tokens: int
    bytes_per_token: int
    fixed_bytes_per_request: int
    bytes_per_request: int
    total_bytes: int
    bytes_per_token_if_mha: int
    weights_bytes: int
    length: int
    budget: Budget
    gpu_name: str | None
    pool_blocks: int | None
    pool_tokens: int | None
    max_concurrency: float | None
    fits: bool | None
    over_capacity_bytes: int | None
    largest_batch: int | None
    longest_context: int | None
    alternatives: Alternatives
    notes: tuple[Note, ...]
    sources: tuple[str, ...]
    kinds: dict[str, str]

    def formula(self, language: str = "en") -> str:
        """The calculation as one line with its numbers in it."""
        from gpudiag.kv.formula import formula
        from gpudiag.kv.words import words

        return formula(self.engine, self.tokens, self.question.requests, words(language))

    def as_json(self, language: str = "en") -> dict[str, Any]:
        """The answer under the interface's keys; what is not known is None."""
        from gpudiag.kv.words import sentences

        return {
            "model": self.model.name,
            "engine": self.question.engine or (self.engine.name if self.engine.name != "none" else None),
            "bytes_per_token": self.bytes_per_token,
            "fixed_bytes_per_request": self.fixed_bytes_per_request,
            "bytes_per_request": self.bytes_per_request,
            "requests": self.question.requests,
            "tokens": self.tokens,
            "total_bytes": self.total_bytes,
            "bytes_per_token_if_mha": self.bytes_per_token_if_mha,
            "weights_bytes": self.weights_bytes,
            "kv_dtype": self.engine.setup.dtype.name,
            "weights_dtype": self.weights_format.name,
            "gpu": self.gpu_name,
            "budget": self._budget_json(),
            "fits": self.fits,
            "over_capacity_bytes": self.over_capacity_bytes,
            "largest_batch": self.largest_batch,
            "longest_context": self.longest_context,
            "model_limit_tokens": self.model.shape.max_positions,
            "alternatives": {
                "smallest_tp": self.alternatives.smallest_tp,
                "smallest_gpu": self.alternatives.smallest_gpu,
                "with_fp8_kv": {
                    "total_bytes": self.alternatives.fp8_total_bytes,
                    "largest_batch": self.alternatives.fp8_largest_batch,
                },
                "if_mha": {"total_bytes": self.alternatives.mha_total_bytes},
            },
            "formula": self.formula(language),
            "assumptions": sentences(self.notes, language),
            "kinds": self.kinds,
            "sources": list(self.sources),
        }

    def _budget_json(self) -> dict[str, Any]:
        budget, setup = self.budget, self.engine.setup
        return {
            "total_bytes": setup.gpu_bytes,
            "requested_bytes": budget.requested_bytes,
            "weights_bytes": self.weights_bytes if setup.gpu_bytes is not None else None,
            "activation_bytes": budget.activation_bytes,
            "activation_range_bytes": list(budget.activation_range) if budget.activation_range else None,
            "non_torch_bytes": budget.non_torch_bytes,
            "cuda_graph_bytes": budget.cuda_graph_bytes,
            "pool_bytes": budget.pool_bytes,
            "pool_blocks": self.pool_blocks,
            "pool_tokens": self.pool_tokens,
            "max_concurrency": self.max_concurrency,
        }


def calculate(question: Question) -> Answer:
    """Answer a question. Raises KvError with one sentence for what cannot be answered."""
    return _Calculation(question).answer()


class _Calculation:
    """One question on its way to its answer."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.known_weights: dict[int, int] = {}
        self.model = _model(question)
        self.form = weight_format(self.model.config, self._weights_dtype())
        self.gpu_name, self.gpu_bytes, self.gpu_source = _gpu(question.gpu)
        self.tokens = question.tokens or question.max_model_len or self._default_tokens()
        self.engine_name = question.engine
        if self.engine_name is None and (self.gpu_bytes or question.kv_cache_memory_bytes):
            self.engine_name = "vllm"
        _check_sharding(self.model.shape, question.tp)
        _check_stages(self.model.shape, question.pp)

    def answer(self) -> Answer:
        question = self.question
        engine = self.engine(question.tp, self.gpu_bytes)
        budget = engine.budget()
        each = engine.request_bytes(self.tokens)
        total = engine.total_bytes(self.tokens, self.per_replica)
        length = question.max_model_len or self.model.shape.max_positions or self.tokens
        pool, largest = budget.pool_bytes, engine.largest_batch(budget, self.tokens)
        stage = engine.stage(self.tokens)
        mha = if_every_head_had_its_own(stage.parts, engine.storage)
        concurrency = None if pool is None else engine.concurrency(pool, length)
        return Answer(
            question=question,
            model=self.model,
            engine=engine,
            weights_format=self.form,
            tokens=self.tokens,
            bytes_per_token=engine.bytes_per_token(self.tokens),
            fixed_bytes_per_request=engine.fixed_bytes(self.tokens),
            bytes_per_request=each,
            total_bytes=total,
            bytes_per_token_if_mha=mha,
            weights_bytes=self.weights(question.tp),
            length=length,
            budget=budget,
            gpu_name=self.gpu_name,
            pool_blocks=None if pool is None else engine.pool_blocks(pool),
            pool_tokens=None if pool is None else engine.pool_tokens(pool, length),
            max_concurrency=concurrency,
            fits=None if largest is None else self.per_replica <= largest,
            over_capacity_bytes=engine.over_capacity(budget, self.tokens, self.per_replica),
            largest_batch=None if largest is None else largest * question.dp,
            longest_context=engine.longest_context(budget, self.per_replica, self._limit()),
            alternatives=self._alternatives(engine, budget, mha),
            notes=tuple(self._notes(engine, budget, concurrency, length)),
            sources=tuple(self._sources()),
            kinds=self._kinds(budget),
        )

    @property
    def per_replica(self) -> int:
        """Requests on the data-parallel replica that has most."""
        return -(-self.question.requests // self.question.dp)

    def engine(
        self, tp: int, gpu_bytes: int | None, dtype: str | None = None, name: str | None = None
    ) -> Engine:
        question = self.question
        setup = Setup(
            dtype=self._dtype(dtype),
            version=_version(question.engine_version),
            tp=tp,
            pp=question.pp,
            dp=question.dp,
            gpu_bytes=gpu_bytes,
            gpu_memory_utilization=question.gpu_memory_utilization,
            max_model_len=question.max_model_len,
            max_num_seqs=question.max_num_seqs,
            max_num_batched_tokens=question.max_num_batched_tokens,
            block_size=question.block_size,
            speculative=question.num_speculative_tokens,
            pool_bytes=question.kv_cache_memory_bytes,
            weights_bytes=self.weights(tp),
            experts=self.model.weights.has_experts,
        )
        return engine_class(name or self.engine_name)(self.model.shape, setup, self.stages)

    @cached_property
    def stages(self) -> list[Stage]:
        return stages(self.model.shape, self.question.pp, draft=self.question.num_speculative_tokens > 0)

    def weights(self, tp: int) -> int:
        """Weights on the fullest GPU; vLLM also builds a table of rotary angles while loading."""
        if tp not in self.known_weights:
            self.known_weights[tp] = self._weigh(tp)
        return self.known_weights[tp]

    def _weigh(self, tp: int) -> int:
        question, count = self.question, self.model.weights
        draft = question.num_speculative_tokens > 0 and bool(self.model.shape.draft)
        if question.checkpoint_bytes is not None and question.weights_dtype == "auto":
            return -(-question.checkpoint_bytes // (tp * question.pp))
        found = count.bytes(self.form, tp, question.pp, draft)
        return found + (_rotary_table(self.model) if self.engine_name == "vllm" else 0)

    def _dtype(self, asked: str | None) -> CacheDtype:
        name = asked or self.question.kv_dtype
        if name == "auto":
            name = self.model.shape.cache_dtype
            if self.engine_name in ("llama.cpp", "ollama"):
                name = "f16"
            elif name == "auto":
                name = "bf16" if self.model.shape.dtype == "f32" else self.model.shape.dtype
        if self.engine_name == "lmdeploy":  # its quant_policy keeps scale and zero per vector
            name = {"int8": "int8_per_token_head"}.get(name, name)
        return cache_dtype(name)

    def _weights_dtype(self) -> str:
        """What was asked, else what the model's name says, else `auto`: what its config says."""
        if self.question.weights_dtype != "auto":
            return self.question.weights_dtype
        return self.model.named_weights or "auto"

    def _default_tokens(self) -> int:
        return min(DEFAULT_TOKENS, self.model.shape.max_positions or DEFAULT_TOKENS)

    def _limit(self) -> int:
        """The longest context worth naming: the model's own limit, or what was asked beyond it."""
        return max(self.model.shape.max_positions or MOST_TOKENS, self.tokens)

    # What else one may want to know

    def _alternatives(self, engine: Engine, budget: Budget, mha: int) -> Alternatives:
        fp8_total = fp8_batch = None
        if engine.setup.dtype.name not in ("fp8", "fp8_ds_mla") and self.engine_name not in (
            "llama.cpp",
            "ollama",
        ):
            other = self.engine(self.question.tp, self.gpu_bytes, dtype="fp8")
            fp8_total = other.total_bytes(self.tokens, self.per_replica)
            most = other.largest_batch(budget, self.tokens)
            fp8_batch = None if most is None else most * self.question.dp
        grows = engine.bytes_per_token(self.tokens)
        mha_total = None
        if mha > grows and self._all_grow(engine):
            mha_total = self.per_replica * (mha * self.tokens + engine.fixed_bytes(self.tokens))
        return Alternatives(self._smallest_tp(), self._smallest_gpu(), fp8_total, fp8_batch, mha_total)

    def _all_grow(self, engine: Engine) -> bool:
        return all(getattr(part, "window", None) is None for part, _ in engine.stage(self.tokens).parts)

    def _smallest_tp(self) -> int | None:
        """Fewest GPUs of the given kind that hold it, in the sizes engines accept."""
        if self.gpu_bytes is None or self.question.kv_cache_memory_bytes is not None:
            return None
        for tp in (1, 2, 4, 8, 16, 32):
            if _divides(self.model.shape, tp) and self._holds(self.engine(tp, self.gpu_bytes)):
                return tp
        return None

    def _smallest_gpu(self) -> str | None:
        """The smallest GPU of the catalogue that holds it with the given parallelism."""
        if self.question.kv_cache_memory_bytes is not None:
            return None
        known = catalogue.all_gpus()
        low, high = 0, len(known)
        while low < high:
            middle = (low + high) // 2
            candidate = self.engine(
                self.question.tp, known[middle].total_bytes, name=self.engine_name or "vllm"
            )
            if self._holds(candidate):
                high = middle
            else:
                low = middle + 1
        return known[low].name if low < len(known) else None

    def _holds(self, engine: Engine) -> bool:
        most = engine.largest_batch(engine.budget(), self.tokens)
        return most is not None and self.per_replica <= most

    # What the numbers rest on

    def _notes(self, engine: Engine, budget: Budget, concurrency: float | None, length: int) -> list[Note]:
        question, shape = self.question, self.model.shape
        found = list(shape.notes)
        if not self.model.verified:
            found.append(note("unverified-geometry"))
        if question.tokens is None:
            found.append(note("default-tokens", tokens=self.tokens))
        if shape.max_positions and self.tokens > shape.max_positions:
            found.append(note("above-limit", tokens=self.tokens, limit=shape.max_positions))
        if question.kv_dtype == "auto":
            found.append(note("dtype-auto", dtype=engine.setup.dtype.name))
        if question.engine is None:
            found.append(note("engine-assumed") if self.engine_name else note("no-engine"))
        if question.tp > 1:
            found.append(note("per-gpu", tp=question.tp))
            heads = [part.kv_heads for part in shape.parts() if isinstance(part, Attention)]
            if heads and max(heads) < question.tp:
                found.append(note("replicated", heads=max(heads), tp=question.tp))
        if question.num_speculative_tokens and not shape.draft:
            found.append(note("no-draft-layer"))
        found += engine.notes(self.tokens)
        found += budget.notes
        if self.engine_name == "vllm" and concurrency is not None and concurrency < 1:
            found.append(note("vllm-refuses", length=length))
        found.append(note("weights-measured") if self._checkpoint_counts() else note("weights-counted"))
        if self.model.named_weights and question.weights_dtype == "auto":
            found.append(note("weights-from-name", dtype=self.form.name))
        if self.form.name == "mxfp4" and self.model.weights.pads_experts:
            found.append(note("mxfp4-padding"))
        if self.form.name in GGUF_RECIPES:
            found.append(note("gguf-recipe"))
        found += _sparse_rows(shape, engine)
        if question.gpu is not None and self.gpu_source is None:
            found.append(note("gpu-unverified" if isinstance(question.gpu, str) else "gpu-declared"))
        return found

    def _checkpoint_counts(self) -> bool:
        return self.question.checkpoint_bytes is not None and self.question.weights_dtype == "auto"

    def _weights_kind(self) -> str:
        if self._checkpoint_counts():
            return "measured"
        padded = self.form.name == "mxfp4" and self.model.weights.pads_experts
        estimated = padded or self.form.name in GGUF_RECIPES or not self.model.verified
        return "inferred" if estimated else "calculated"

    def _sources(self) -> list[str]:
        found = [self.model.source]
        if self.gpu_source:
            found.append(self.gpu_source)
        return found

    def _kinds(self, budget: Budget) -> dict[str, str]:
        question = self.question
        beta = bool(self.model.shape.notes) or not self.model.verified
        calculated = "inferred" if beta else "calculated"
        given = question.kv_cache_memory_bytes is not None
        pool = "declared" if given else "inferred"
        gpu = "measured" if self.gpu_source else "declared"
        keys = {
            "tokens": "declared" if question.tokens is not None else "inferred",
            "requests": "declared",
            "bytes_per_token": calculated,
            "fixed_bytes_per_request": calculated,
            "bytes_per_request": calculated,
            "total_bytes": calculated,
            "bytes_per_token_if_mha": calculated,
            "weights_bytes": self._weights_kind(),
        }
        if self.gpu_bytes is not None:
            keys |= {"budget.total_bytes": gpu, "budget.weights_bytes": keys["weights_bytes"]}
            keys |= {"budget.requested_bytes": "calculated", "budget.activation_bytes": "inferred"}
            keys |= {"budget.non_torch_bytes": "inferred", "budget.cuda_graph_bytes": "inferred"}
        if budget.pool_bytes is not None:
            derived = calculated if given else "inferred"
            keys["budget.pool_bytes"] = pool
            for key in ("budget.pool_blocks", "budget.pool_tokens", "budget.max_concurrency", "fits"):
                keys[key] = derived
            for key in ("over_capacity_bytes", "largest_batch", "longest_context"):
                keys[key] = derived
        return keys


def _model(question: Question) -> Model:
    if question.config is not None:
        return _given_model(question)
    return _catalogue_model(question.model or "")


def _given_model(question: Question) -> Model:
    """A model read from a raw config. Its values are anybody's: what they break becomes one sentence."""
    config = open_config(question.config)
    called = question.model or config.get("_name_or_path") or config.family or "config.json"
    try:
        shape = read_shape(config)
        count = WeightCount(config, shape)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        why = str(error).replace("\n", " ")
        raise KvError(
            f"config: a value has an unexpected form ({why:.120}); is this the config.json as published?"
        ) from None
    return Model(str(called), config, shape, count, "config.json as given")


@lru_cache(maxsize=64)
def _catalogue_model(name: str) -> Model:
    named = catalogue.find_model(name)
    entry, config = named.model, Config(named.model.config)
    shape = read_shape(config)
    count = WeightCount(config, shape)
    return Model(entry.name, config, shape, count, entry.source, entry.verified, named.weights_dtype)


def _gpu(asked: str | float | None) -> tuple[str | None, int | None, str | None]:
    """(name, bytes, source) of a GPU named or given in GiB."""
    if asked is None:
        return None, None, None
    if isinstance(asked, str):
        entry = catalogue.find_gpu(asked)
        return entry.name, entry.total_bytes, entry.source if entry.verified else None
    return f"{asked:g} GiB", round(asked * GIB), None


def _version(text: str | None) -> tuple[int, ...] | None:
    """(0, 19, 0) of "v0.19.0rc1"; None when there is no number in it."""
    import re

    found = re.match(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", text or "")
    return tuple(int(group or 0) for group in found.groups()) if found else None


def _rotary_table(model: Model) -> int:
    """Cosines and sines for every position, 2 bytes each: 0.03 GiB for 131,072 positions of 128."""
    positions = min(model.shape.max_positions or 0, 2**20)
    width = 0
    for part in model.shape.parts():
        width = max(width, getattr(part, "rope_dim", 0) or getattr(part, "key_dim", 0))
    return positions * width * 2


def _sparse_rows(shape: ModelShape, engine: Engine) -> list[Note]:
    """fp8 rows of sparse latent attention come in two widths; which one depends on the attention backend."""
    part = next((one for one in shape.parts() if isinstance(one, Latent) and one.index_dim), None)
    if part is None or engine.setup.dtype.key.name != "fp8":
        return []
    wide, plain = (replace(part, index_dim=0, wide_fp8=flag) for flag in (True, False))
    rows = rate(wide, engine.storage), rate(plain, engine.storage)
    row, other = rows if part.wide_fp8 else rows[::-1]
    return [note("dsa-backend", row=row, other=other)]


def _divides(shape: ModelShape, tp: int) -> bool:
    try:
        _check_sharding(shape, tp)
    except KvError:
        return False
    return True


def _check_sharding(shape: ModelShape, tp: int) -> None:
    for part in shape.parts() if tp > 1 else ():
        queries, keys = getattr(part, "query_heads", None), getattr(part, "kv_heads", None)
        if queries and queries % tp:
            fitting = ", ".join(str(one) for one in range(1, queries + 1) if queries % one == 0 and one <= 64)
            raise KvError(
                f"tp: {queries} attention heads do not divide over {tp} GPUs; this model takes tp {fitting}"
            )
        if keys and keys % tp and tp % keys:
            raise KvError(
                f"tp: {keys} KV heads neither divide over {tp} GPUs nor repeat evenly on them; "
                f"choose a tp that divides {keys} or is a multiple of it"
            )


def _check_stages(shape: ModelShape, pp: int) -> None:
    if pp > len(shape.layers):
        raise KvError(f"pp: {pp} stages are more than the model's {len(shape.layers)} layers")
