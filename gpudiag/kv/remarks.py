"""What the numbers of an answer rest on: assumptions, kinds and sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudiag.kv.cache import rate
from gpudiag.kv.dtypes import GGUF_RECIPES, LLAMA_CACHES, CacheDtype
from gpudiag.kv.families import GEOMETRY
from gpudiag.kv.layers import Attention, Latent
from gpudiag.kv.note import Note, note
from gpudiag.kv.question import BY_LAYERS

PLAIN = ("bf16", "f16", "f32")
# The numbers of an answer by what they rest on; a dot leads into an inner object.
FROM_GEOMETRY = (
    "bytes_per_token",
    "fixed_bytes_per_request",
    "bytes_per_request",
    "total_bytes",
    "bytes_per_token_if_mha",
    "model_limit_tokens",
    "alternatives.with_fp8_kv.total_bytes",
    "alternatives.if_mha.total_bytes",
)
FROM_POOL = (
    "budget.pool_blocks",
    "budget.pool_tokens",
    "budget.max_concurrency",
    "fits",
    "over_capacity_bytes",
    "largest_batch",
    "longest_context",
    "alternatives.with_fp8_kv.largest_batch",
)
ESTIMATED = (
    "budget.activation_bytes",
    "budget.activation_range_bytes",
    "budget.non_torch_bytes",
    "budget.cuda_graph_bytes",
    "alternatives.smallest_tp",
    "alternatives.smallest_gpu",
)

if TYPE_CHECKING:
    from gpudiag.kv.calculation import Calculation
    from gpudiag.kv.engines.base import Budget, Engine
    from gpudiag.kv.shape import ModelShape


def notes(
    calculation: Calculation, engine: Engine, budget: Budget, concurrency: float | None, length: int
) -> list[Note]:
    """Every assumption behind an answer, the weakest facts first."""
    question, shape = calculation.question, calculation.model.shape
    found = list(shape.notes)
    if not calculation.model.verified:
        found.append(note("unverified-geometry"))
    omitted = _left_out(calculation)
    if omitted:
        found.append(note("family-defaults", family=calculation.model.config.family, keys=omitted))
    if question.tokens is None:
        found.append(note("default-tokens", tokens=calculation.tokens))
    if shape.max_positions and calculation.tokens > shape.max_positions:
        found.append(note("above-limit", tokens=calculation.tokens, limit=shape.max_positions))
    if question.max_model_len and calculation.tokens > question.max_model_len:
        found.append(note("above-max-len", tokens=calculation.tokens, limit=question.max_model_len))
    if question.max_num_seqs and calculation.per_replica > question.max_num_seqs:
        found.append(note("requests-wait", requests=calculation.per_replica, most=question.max_num_seqs))
    if calculation.engine_name and not _can_store(calculation.engine_name, engine.setup.dtype):
        said = {"engine": calculation.engine_name, "dtype": engine.setup.dtype.name}
        found.append(note("dtype-elsewhere", **said))
    if question.kv_dtype == "auto":
        found.append(note("dtype-auto", dtype=engine.setup.dtype.name))
    if question.engine is None:
        found.append(note("engine-assumed") if calculation.engine_name else note("no-engine"))
    if question.tp > 1:
        found.append(note("per-gpu", tp=question.tp))
        heads = [part.kv_heads for part in shape.parts() if isinstance(part, Attention)]
        if heads and max(heads) < question.tp:
            found.append(note("replicated", heads=max(heads), tp=question.tp))
    if question.num_speculative_tokens and not shape.draft:
        found.append(note("no-draft-layer"))
    found += engine.notes(calculation.tokens)
    found += budget.notes
    held = calculation.weights(question.tp) + (question.kv_cache_memory_bytes or 0)
    if question.kv_cache_memory_bytes and calculation.gpu_bytes and held > calculation.gpu_bytes:
        found.append(note("pool-beside-weights", over=(held - calculation.gpu_bytes) / 2**30))
    if calculation.engine_name == "vllm" and concurrency is not None and concurrency < 1:
        found.append(note("vllm-refuses", length=length))
    found.append(note("weights-measured") if _checkpoint_counts(calculation) else note("weights-counted"))
    if calculation.model.named_weights and question.weights_dtype == "auto":
        found.append(note("weights-from-name", dtype=calculation.form.name))
    if calculation.pads_experts:
        found.append(note("mxfp4-padding"))
    if calculation.model.weights.guesses_head:
        found.append(note("beta-head"))
    if calculation.form.unread:
        found.append(note("weights-unread", method=calculation.form.unread))
    if calculation.form.mixed:
        found.append(note("weights-mixed", dtype=calculation.form.name))
    if calculation.form.name in GGUF_RECIPES:
        found.append(note("gguf-recipe"))
    found += _sparse_rows(shape, engine)
    if question.gpu is not None and calculation.gpu_source is None:
        found.append(note("gpu-unverified" if isinstance(question.gpu, str) else "gpu-declared"))
    return found


def _can_store(engine: str, dtype: CacheDtype) -> bool:
    """Whether the engine knows such a cache at all: block formats are llama.cpp's, plain ones everybody's."""
    llama = engine in BY_LAYERS
    return all(form.name in PLAIN or (form.name in LLAMA_CACHES) == llama for form in dtype)


def _left_out(calculation: Calculation) -> str:
    """Keys of the geometry that the config leaves to its family's defaults, as `head_dim 256`."""
    omitted = calculation.model.config.left_out
    return ", ".join(f"{name} {omitted[name]}" for name in GEOMETRY if name in omitted)


def _checkpoint_counts(calculation: Calculation) -> bool:
    return calculation.question.checkpoint_bytes is not None and calculation.question.weights_dtype == "auto"


def _weights_kind(calculation: Calculation) -> str:
    if _checkpoint_counts(calculation):
        return "measured"
    form, count = calculation.form, calculation.model.weights
    estimated = (
        calculation.pads_experts
        or form.name in GGUF_RECIPES
        or form.unread
        or form.mixed
        or count.guesses_head
    )
    return "inferred" if estimated or _unconfirmed(calculation) else "calculated"


def sources(calculation: Calculation) -> list[str]:
    """Where the geometry and the GPU's memory were read."""
    found = [calculation.model.source]
    if calculation.gpu_source:
        found.append(calculation.gpu_source)
    return found


def kinds(calculation: Calculation, budget: Budget) -> dict[str, str]:
    """Key → measured, calculated, inferred or declared, for every number that an answer may have."""
    question = calculation.question
    calculated = "inferred" if _unconfirmed(calculation) else "calculated"
    given = question.kv_cache_memory_bytes is not None
    derived = calculated if given else "inferred"
    weights, gpu = _weights_kind(calculation), _gpu_kind(calculation)
    return {
        "tokens": "declared" if question.tokens is not None else "inferred",
        "requests": "declared",
        **dict.fromkeys(FROM_GEOMETRY, calculated),
        "weights_bytes": weights,
        "budget.total_bytes": gpu,
        "budget.weights_bytes": weights,
        "budget.requested_bytes": "calculated",
        **dict.fromkeys(ESTIMATED, "inferred"),
        "budget.pool_bytes": "declared" if given else "inferred",
        **dict.fromkeys(FROM_POOL, derived),
    }


def _unconfirmed(calculation: Calculation) -> bool:
    return bool(calculation.model.shape.notes) or not calculation.model.verified


def _gpu_kind(calculation: Calculation) -> str:
    if calculation.gpu_source:
        return "measured"
    return "inferred" if isinstance(calculation.question.gpu, str) else "declared"


def _sparse_rows(shape: ModelShape, engine: Engine) -> list[Note]:
    """fp8 rows of sparse latent attention come in two widths; which one depends on the attention backend."""
    part = next((one for one in shape.parts() if isinstance(one, Latent) and one.index_dim), None)
    if part is None or engine.setup.dtype.key.name != "fp8":
        return []
    wide, plain = (replace(part, index_dim=0, wide_fp8=flag) for flag in (True, False))
    rows = rate(wide, engine.storage), rate(plain, engine.storage)
    row, other = rows if part.wide_fp8 else rows[::-1]
    return [note("dsa-backend", row=row, other=other)]
