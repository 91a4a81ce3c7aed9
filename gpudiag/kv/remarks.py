"""What the numbers of an answer rest on: assumptions, kinds and sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudiag.kv import catalogue
from gpudiag.kv.cache import rate
from gpudiag.kv.deployment import Deployment
from gpudiag.kv.dtypes import GGUF_RECIPES, LLAMA_CACHES, CacheDtype
from gpudiag.kv.engines.base import Budget, Engine
from gpudiag.kv.families import GEOMETRY
from gpudiag.kv.layers import Attention, Latent
from gpudiag.kv.note import Note, note
from gpudiag.kv.question import BY_LAYERS
from gpudiag.kv.shape import ModelShape

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


def notes(
    deployment: Deployment, engine: Engine, budget: Budget, concurrency: float | None, length: int
) -> list[Note]:
    """Every assumption behind an answer, the weakest facts first."""
    return [
        *deployment.model.shape.notes,
        *_on_geometry(deployment),
        *_on_lengths(deployment),
        *_on_cache(deployment, engine),
        *_on_sharding(deployment),
        *engine.notes(deployment.tokens),
        *budget.notes,
        *_on_pool(deployment, concurrency, length),
        *_on_weights(deployment),
        *_sparse_rows(deployment.model.shape, engine),
        *_on_gpu(deployment),
    ]


def _on_geometry(deployment: Deployment) -> Iterator[Note]:
    if not deployment.model.verified:
        yield note("unverified-geometry")
    omitted = _left_out(deployment)
    if omitted:
        yield note("family-defaults", family=deployment.model.config.family, keys=omitted)


def _on_lengths(deployment: Deployment) -> Iterator[Note]:
    question, tokens, limit = deployment.question, deployment.tokens, deployment.model.shape.max_positions
    if question.tokens is None:
        yield note("default-tokens", tokens=tokens)
    if limit and tokens > limit:
        yield note("above-limit", tokens=tokens, limit=limit)
    if question.max_model_len and tokens > question.max_model_len:
        yield note("above-max-len", tokens=tokens, limit=question.max_model_len)
    if question.max_num_seqs and deployment.per_replica > question.max_num_seqs:
        yield note("requests-wait", requests=deployment.per_replica, most=question.max_num_seqs)


def _on_cache(deployment: Deployment, engine: Engine) -> Iterator[Note]:
    name, dtype = deployment.engine_name, engine.setup.dtype
    if name and not _can_store(name, dtype):
        yield note("dtype-elsewhere", engine=name, dtype=dtype.name)
    if deployment.question.kv_dtype == "auto":
        yield note("dtype-auto", dtype=dtype.name)
    if deployment.question.engine is None:
        yield note("engine-assumed") if name else note("no-engine")


def _on_sharding(deployment: Deployment) -> Iterator[Note]:
    question, shape = deployment.question, deployment.model.shape
    if question.tp > 1:
        yield note("per-gpu", tp=question.tp)
        heads = [part.kv_heads for part in shape.parts() if isinstance(part, Attention)]
        sharing = question.tp // question.attn_dp
        if heads and max(heads) < sharing:
            yield note("replicated", heads=max(heads), tp=sharing)
    if question.dcp > 1:
        yield note("dcp", dcp=question.dcp)
    if question.attn_dp > 1:
        yield note("attn-dp", groups=question.attn_dp, tp=question.tp // question.attn_dp)
    if question.dp > 1 and deployment.engine_name == "vllm" and deployment.model.weights.has_experts:
        yield note("experts-over-replicas", dp=question.dp)
    if question.num_speculative_tokens and not shape.draft:
        yield note("no-draft-layer")


def _on_pool(deployment: Deployment, concurrency: float | None, length: int) -> Iterator[Note]:
    given, card = deployment.question.kv_cache_memory_bytes, deployment.gpu_bytes
    if given and card:
        held = deployment.weights(deployment.question.tp) + given
        if held > card:
            yield note("pool-beside-weights", over=(held - card) / 2**30)
    if deployment.engine_name == "vllm" and concurrency is not None and concurrency < 1:
        yield note("vllm-refuses", length=length)


def _on_weights(deployment: Deployment) -> Iterator[Note]:
    form, model = deployment.form, deployment.model
    yield note("weights-measured") if _checkpoint_counts(deployment) else note("weights-counted")
    if model.named_weights and deployment.question.weights_dtype == "auto":
        yield note("weights-from-name", dtype=form.name)
    if deployment.pads_experts:
        yield note("mxfp4-padding")
    if model.weights.guesses_head:
        yield note("beta-head")
    if form.unread:
        yield note("weights-unread", method=form.unread)
    if form.experts:
        yield note("weights-experts", dtype=form.name, bits=form.experts)
    if form.mixed:
        yield note("weights-mixed", dtype=form.name)
    if form.name in GGUF_RECIPES:
        yield note("gguf-recipe")


def _on_gpu(deployment: Deployment) -> Iterator[Note]:
    gpu = deployment.question.gpu
    if gpu is not None and deployment.gpu_source is None:
        yield note("gpu-unverified" if isinstance(gpu, str) else "gpu-declared")
    if isinstance(gpu, str) and catalogue.find_gpu(gpu).shared:
        yield note("gpu-shared")


def _can_store(engine: str, dtype: CacheDtype) -> bool:
    """Whether the engine knows such a cache at all: block formats are llama.cpp's, plain ones everybody's."""
    llama = engine in BY_LAYERS
    return all(form.name in PLAIN or (form.name in LLAMA_CACHES) == llama for form in dtype)


def _left_out(deployment: Deployment) -> str:
    """Keys of the geometry that the config leaves to its family's defaults, as `head_dim 256`."""
    omitted = deployment.model.config.left_out
    return ", ".join(f"{name} {omitted[name]}" for name in GEOMETRY if name in omitted)


def _checkpoint_counts(deployment: Deployment) -> bool:
    return deployment.question.checkpoint_bytes is not None and deployment.question.weights_dtype == "auto"


def _weights_kind(deployment: Deployment) -> str:
    if _checkpoint_counts(deployment):
        return "measured"
    form, count = deployment.form, deployment.model.weights
    estimated = (
        deployment.pads_experts
        or form.name in GGUF_RECIPES
        or form.unread
        or form.mixed
        or count.guesses_head
    )
    return "inferred" if estimated or _unconfirmed(deployment) else "calculated"


def sources(deployment: Deployment) -> list[str]:
    """Where the geometry and the GPU's memory were read."""
    found = [deployment.model.source]
    if deployment.gpu_source:
        found.append(deployment.gpu_source)
    return found


def kinds(deployment: Deployment, budget: Budget) -> dict[str, str]:
    """Key → measured, calculated, inferred or declared, for every number that an answer may have."""
    question = deployment.question
    calculated = "inferred" if _unconfirmed(deployment) else "calculated"
    given = question.kv_cache_memory_bytes is not None
    derived = calculated if given else "inferred"
    weights, gpu = _weights_kind(deployment), _gpu_kind(deployment)
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


def _unconfirmed(deployment: Deployment) -> bool:
    return bool(deployment.model.shape.notes) or not deployment.model.verified


def _gpu_kind(deployment: Deployment) -> str:
    if deployment.gpu_source:
        return "measured"
    return "inferred" if isinstance(deployment.question.gpu, str) else "declared"


def _sparse_rows(shape: ModelShape, engine: Engine) -> list[Note]:
    """fp8 rows of sparse latent attention come in two widths; which one depends on the attention backend."""
    part = next((one for one in shape.parts() if isinstance(one, Latent) and one.index_dim), None)
    if part is None or engine.setup.dtype.key.name != "fp8":
        return []
    wide, plain = (replace(part, index_dim=0, wide_fp8=flag) for flag in (True, False))
    rows = rate(wide, engine.storage), rate(plain, engine.storage)
    row, other = rows if part.wide_fp8 else rows[::-1]
    return [note("dsa-backend", row=row, other=other)]
