"""From a question to its answer: asks the engine what it needs, and tries what else would do."""

from __future__ import annotations

from gpudiag.kv import catalogue, remarks
from gpudiag.kv.answer import Alternatives, Answer
from gpudiag.kv.cache import if_every_head_had_its_own
from gpudiag.kv.deployment import Deployment
from gpudiag.kv.engines.base import Budget, Engine
from gpudiag.kv.model import divides
from gpudiag.kv.question import BY_LAYERS, Question

MOST_TOKENS = 100_000_000


def calculate(question: Question) -> Answer:
    """Answer a question. Raises KvError with one sentence for what cannot be answered."""
    deployment = Deployment(question)
    model, tokens, requests = deployment.model, deployment.tokens, deployment.per_replica
    engine = deployment.engine(question.tp, deployment.gpu)
    budget = engine.budget()
    length = question.max_model_len or model.shape.max_positions or tokens
    pool, largest = budget.pool_bytes, engine.largest_batch(budget, tokens)
    mha = if_every_head_had_its_own(engine.stage(tokens).parts, engine.storage)
    concurrency = None if pool is None else engine.concurrency(pool, length)
    return Answer(
        question=question,
        model=model,
        engine=engine,
        weights_format=deployment.form,
        tokens=tokens,
        bytes_per_token=engine.bytes_per_token(tokens),
        fixed_bytes_per_request=engine.fixed_bytes(tokens),
        bytes_per_request=engine.request_bytes(tokens),
        total_bytes=engine.total_bytes(tokens, requests),
        bytes_per_token_if_mha=mha,
        weights_bytes=deployment.weights(question.tp),
        length=length,
        budget=budget,
        gpu_name=deployment.gpu.name if deployment.gpu else None,
        pool_blocks=None if pool is None else engine.pool_blocks(pool),
        pool_tokens=None if pool is None else engine.pool_tokens(pool, length),
        max_concurrency=concurrency,
        fits=None if largest is None else requests <= largest,
        over_capacity_bytes=engine.over_capacity(budget, tokens, requests),
        largest_batch=None if largest is None else largest * question.replicas,
        longest_context=engine.longest_context(budget, requests, _limit(deployment)),
        alternatives=_alternatives(deployment, engine, budget, mha),
        notes=tuple(remarks.notes(deployment, engine, budget, concurrency, length)),
        sources=tuple(remarks.sources(deployment)),
        kinds=remarks.kinds(deployment, budget),
    )


def _limit(deployment: Deployment) -> int:
    """The longest context worth naming: the model's own limit, or what was asked beyond it."""
    return max(deployment.model.shape.max_positions or MOST_TOKENS, deployment.tokens)


# ---------------------------------------------------------------------- what else one may want to know


def _alternatives(deployment: Deployment, engine: Engine, budget: Budget, mha: int) -> Alternatives:
    tokens, requests = deployment.tokens, deployment.per_replica
    fp8_total = fp8_batch = mha_total = None
    if engine.setup.dtype.name not in ("fp8", "fp8_ds_mla") and deployment.engine_name not in BY_LAYERS:
        other = deployment.engine(deployment.question.tp, deployment.gpu, dtype="fp8")
        fp8_total = other.total_bytes(tokens, requests)
        most = other.largest_batch(budget, tokens)
        fp8_batch = None if most is None else most * deployment.question.replicas
    if mha > engine.bytes_per_token(tokens) and _all_grow(engine, tokens):
        mha_total = requests * (mha * tokens + engine.fixed_bytes(tokens))
    return Alternatives(_smallest_tp(deployment), _smallest_gpu(deployment), fp8_total, fp8_batch, mha_total)


def _all_grow(engine: Engine, tokens: int) -> bool:
    return all(getattr(part, "window", None) is None for part, _ in engine.stage(tokens).parts)


def _smallest_tp(deployment: Deployment) -> int | None:
    """Fewest GPUs of the given kind that hold it, in the sizes engines accept."""
    gpu, shape = deployment.gpu, deployment.model.shape
    if gpu is None or deployment.question.kv_cache_memory_bytes is not None:
        return None
    for tp in (1, 2, 4, 8, 16, 32):
        if (
            _parts(deployment.question, tp)
            and divides(shape, tp)
            and _holds(deployment, deployment.engine(tp, gpu))
        ):
            return tp
    return None


def _parts(question: Question, tp: int) -> bool:
    """Whether so many GPUs go into the groups that were asked for."""
    return tp % question.dcp == 0 and tp % question.attn_dp == 0


def _smallest_gpu(deployment: Deployment) -> str | None:
    """The smallest GPU of the catalogue, with memory of its own, that holds it with the given parallelism."""
    if deployment.question.kv_cache_memory_bytes is not None:
        return None
    known = [gpu for gpu in catalogue.all_gpus() if not gpu.shared]
    low, high = 0, len(known)
    while low < high:
        middle = (low + high) // 2
        candidate = deployment.engine(
            deployment.question.tp, known[middle], name=deployment.engine_name or "vllm"
        )
        if _holds(deployment, candidate):
            high = middle
        else:
            low = middle + 1
    return known[low].name if low < len(known) else None


def _holds(deployment: Deployment, engine: Engine) -> bool:
    most = engine.largest_batch(engine.budget(), deployment.tokens)
    return most is not None and deployment.per_replica <= most
