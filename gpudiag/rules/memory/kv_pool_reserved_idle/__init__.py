"""Memory is full on purpose: a serving engine reserved its KV pool, it is alive, and nobody asks."""

from gpudiag.rule import STATE, Fires, calculated, measured, rule
from gpudiag.window import W5, EngineWindow, GpuWindow
from gpudiag.workloads import POOLING_ENGINES


@rule(
    severity="ok",
    rank=STATE,
    given=("idle", "holding", "process"),
    explains=("memory-held-idle", "oom-risk", "weights-loaded-idle", "held-by-idle-process"),
)
def kv_pool_reserved_idle(
    gpu: GpuWindow,
    *,
    min_used_share: float = 0.70,
    max_change_share: float = 0.01,
    min_quiet_share: float = 0.95,
    max_kv_used_ratio: float = 0.05,
) -> Fires | None:
    """Memory is held by a reserved KV pool and nobody asks for work."""
    engines = [e for e in gpu.engines if e.reading.engine in POOLING_ENGINES]
    workers = [w for w in gpu.workloads if w.kind == "engine" and w.engine in POOLING_ENGINES]
    if not engines and not workers:
        return None
    total = gpu.now("memory_total_bytes")
    memory = gpu.over("memory_used_bytes", W5)
    quiet = gpu.share("quiet", W5)
    if memory.mean < min_used_share * total or memory.max - memory.min > max_change_share * total:
        return None
    if quiet < min_quiet_share:
        return None
    seen = (
        measured("memory_used_bytes", gpu.now("memory_used_bytes"), of=total, window=W5),
        measured("quiet_ratio", quiet, window=W5),
    )
    if not engines or not all(_alive(engine) for engine in engines):
        return Fires(seen, severity="info", confidence="possible", variant="looks-like")
    if any(_asked(engine, max_kv_used_ratio) for engine in engines):
        return None
    if not gpu.covers(W5):
        return Fires((*seen, *_of(engines)), severity="info", confidence="possible", variant="looks-like")
    return Fires((*seen, *_of(engines)), words={"engine": engines[0].reading.name})


def _alive(engine: EngineWindow) -> bool:
    """The server runs above its workers and answers: a listening socket alone proves nothing."""
    reading = engine.reading
    answers = bool(reading.health_ok or reading.metrics_ok)
    return answers and reading.parent_alive is True


def _asked(engine: EngineWindow, max_kv_used_ratio: float) -> bool:
    """Somebody asked within the span: requests, moving tokens, or a pool in use."""
    busy = engine.over("requests_running", W5).max + engine.over("requests_waiting", W5).max
    moved = engine.rise("generation_tokens_total", W5)
    return busy > 0 or moved > 0 or engine.now("kv_used_ratio") > max_kv_used_ratio


def _of(engines: list[EngineWindow]) -> tuple:  # type: ignore[type-arg]
    reading = engines[0].reading
    found = [
        measured("requests_running", sum(e.now("requests_running") for e in engines), source=reading.name)
    ]
    if reading.pool_bytes is not None:
        found.append(measured("pool_bytes", reading.pool_bytes, source=reading.name))
    if reading.weights_bytes is not None:
        found.append(calculated("weights_bytes", reading.weights_bytes))
    return tuple(found)
