"""Memory is full on purpose: a serving engine reserved its KV pool, it is alive, and nobody asks."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, calculated, declared, measured, rule
from gpudiag.rules.engines import alive, asked, reached_at
from gpudiag.rules.holders import only_probed
from gpudiag.rules.sight import seen_seconds
from gpudiag.window import QUIET_PERCENT, W2, W5, EngineWindow, GpuWindow, NotMeasured
from gpudiag.workloads import POOLING_ENGINES


@rule(
    severity="ok",
    rank=STATE,
    given=("idle", "holding", "engine"),
    explains=("memory-held-idle", "oom-risk", "weights-loaded-idle", "held-by-idle-process"),
)
def kv_pool_reserved_idle(
    gpu: GpuWindow,
    *,
    min_used_share: float = 0.70,
    min_reserved_share: float = 0.90,
    max_change_share: float = 0.01,
    min_quiet_share: float = 0.95,
    max_kv_used_ratio: float = 0.05,
    min_pool_bytes: int = 8 << 30,
    max_probe_percent: float = 5.0,
) -> Fires | None:
    """Memory is held by a reserved KV pool and nobody asks for work."""
    engines = [e for e in gpu.engines if e.reading.engine in POOLING_ENGINES and not e.reading.sleeping]
    if not engines and not any(w.engine in POOLING_ENGINES for w in gpu.workloads):
        return None
    if gpu.node.pasted and gpu.reading.memory_total_bytes is None:
        return _total_unseen(gpu, min_pool_bytes)
    total = gpu.now("memory_total_bytes")
    memory, lasting = gpu.over("memory_used_bytes", W5), W5
    answer = bool(engines) and False not in [engine.once(alive) for engine in engines]
    change = memory.max - memory.min
    if answer and change > max_change_share * total:
        memory, lasting = gpu.over("memory_used_bytes", W2), W2  # it was reserved a short while ago
        change = memory.max - memory.min
    quiet = gpu.share("quiet", lasting)
    asked_for = sum([e.reading.gpu_memory_utilization or 0.0 for e in engines])
    enough = min(min_used_share, min_reserved_share * asked_for) if asked_for else min_used_share
    if memory.mean < enough * total or change > max_change_share * total:
        return None
    if quiet < min_quiet_share and not (answer and only_probed(gpu, lasting, max_probe_percent)):
        return None
    span = seen_seconds(gpu, lasting)
    seen = (
        measured("memory_used_bytes", gpu.now("memory_used_bytes"), of=total, window=span),
        measured("quiet_ratio", quiet, window=span),
    )
    if not answer:
        return _looks_like(seen, next((e for e in engines if not e.once(alive)), None))
    if True in [engine.once(asked, W5, max_kv_used_ratio) for engine in engines]:
        return None
    proof = engines[0].once(_alone) if len(engines) == 1 else _of(engines)
    if not gpu.covers(W5):
        return _looks_like((*seen, *proof), engines[0])
    return Fires((*seen, *proof), words={"engine": engines[0].reading.name})


def _total_unseen(gpu: GpuWindow, min_pool_bytes: int) -> Fires | None:
    """Pasted text without the GPU's own memory: what its engine holds, beside a load of nothing."""
    workers = [p for p in gpu.processes if p.workload.engine in POOLING_ENGINES]
    held = sum(process.memory_on(gpu.index) or 0 for process in workers)
    if held < min_pool_bytes:
        return None
    paste = gpu.node.latest.paste if gpu.node.latest else None
    load = gpu.reading.utilization_percent
    if load is None:  # rows whose GPU is cut off: one of them is most likely this one
        loose = paste.loose_utilization_percent if paste else None
        if not loose:
            raise NotMeasured("memory_total_bytes", "utilization_percent", reason="cut")
        load = max(loose)
    if load > QUIET_PERCENT:
        return None
    seen = (
        measured("process_memory_bytes", held, source="pasted text"),
        measured("utilization_percent", load, source="pasted text"),
    )
    words = reached_at(None)
    return Fires(seen, severity="info", confidence="possible", variant="total-unseen", words=words)


def _looks_like(seen: tuple[Evidence, ...], engine: EngineWindow | None) -> Fires:
    words = reached_at(engine)
    return Fires(seen, severity="info", confidence="possible", variant="looks-like", words=words)


def _alone(engine: EngineWindow) -> tuple[Evidence, ...]:
    return _of([engine])


def _of(engines: list[EngineWindow]) -> tuple[Evidence, ...]:
    reading = engines[0].reading
    running = sum(engine.now("requests_running") for engine in engines)
    found = [measured("requests_running", running, source=reading.name)]
    if reading.generation_tokens_total is not None and engines[0].covers(W5):
        made = sum(engine.rise("generation_tokens_total", W5) for engine in engines)
        found.append(measured("generation_tokens", round(made), window=W5, source=reading.name))
    if reading.pool_bytes is not None:
        found.append(measured("pool_bytes", reading.pool_bytes, source=reading.name))
    if reading.gpu_memory_utilization is not None:
        found.append(declared("gpu_memory_utilization", reading.gpu_memory_utilization, source=reading.name))
    if reading.weights_bytes is not None:
        found.append(calculated("weights_bytes", reading.weights_bytes))
    return tuple(found)
