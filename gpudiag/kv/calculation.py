"""From a question to its answer: reads the model, asks the engine, tries what else would do."""

from __future__ import annotations

from functools import cached_property

from gpudiag.kv import catalogue, remarks
from gpudiag.kv.answer import Alternatives, Answer
from gpudiag.kv.cache import Stage, if_every_head_had_its_own, stages
from gpudiag.kv.dtypes import CacheDtype, cache_dtype
from gpudiag.kv.engines import engine_class
from gpudiag.kv.engines.base import Budget, Engine, Setup
from gpudiag.kv.model import (
    check_pool,
    check_sharding,
    check_stages,
    divides,
    read_gpu,
    read_model,
    rotary_table,
)
from gpudiag.kv.quantization import weight_format
from gpudiag.kv.question import BY_LAYERS, Question

DEFAULT_TOKENS = 8192
MOST_TOKENS = 100_000_000


def calculate(question: Question) -> Answer:
    """Answer a question. Raises KvError with one sentence for what cannot be answered."""
    return Calculation(question).answer()


class Calculation:
    """One question on its way to its answer."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.known_weights: dict[int, int] = {}
        self.model = read_model(question)
        self.form = weight_format(self.model.config, self._weights_dtype())
        self.gpu_name, self.gpu_bytes, self.gpu_source = read_gpu(question.gpu)
        self.tokens = question.tokens or question.max_model_len or self._default_tokens()
        self.engine_name = question.engine
        if self.engine_name is None and (self.gpu_bytes or question.kv_cache_memory_bytes):
            self.engine_name = "vllm"
        check_sharding(self.model.shape, question.tp)
        check_stages(self.model.shape, question.pp)
        check_pool(question.kv_cache_memory_bytes, self.gpu_bytes)

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
            notes=tuple(remarks.notes(self, engine, budget, concurrency, length)),
            sources=tuple(remarks.sources(self)),
            kinds=remarks.kinds(self, budget),
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
            gpu_name=self.gpu_name if gpu_bytes == self.gpu_bytes else None,
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

    @property
    def pads_experts(self) -> bool:
        """Whether the engine's kernels pad MXFP4 experts; llama.cpp keeps them as the file has them."""
        mxfp4 = self.form.name == "mxfp4" and self.model.weights.pads_experts
        return mxfp4 and self.engine_name not in BY_LAYERS

    def _weigh(self, tp: int) -> int:
        question, count = self.question, self.model.weights
        draft = question.num_speculative_tokens > 0 and bool(self.model.shape.draft)
        if question.checkpoint_bytes is not None and question.weights_dtype == "auto":
            return -(-question.checkpoint_bytes // (tp * question.pp))
        found = count.bytes(self.form, tp, question.pp, draft, padded=self.pads_experts)
        return found + (rotary_table(self.model) if self.engine_name == "vllm" else 0)

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
            if divides(self.model.shape, tp) and self._holds(self.engine(tp, self.gpu_bytes)):
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


def _version(text: str | None) -> tuple[int, ...] | None:
    """(0, 19, 0) of "v0.19.0rc1"; None when there is no number in it."""
    import re

    found = re.match(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", text or "")
    return tuple(int(group or 0) for group in found.groups()) if found else None
