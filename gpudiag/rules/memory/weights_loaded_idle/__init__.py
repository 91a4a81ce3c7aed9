"""A model is loaded and waits; only its weights are held."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.engines import alive, answers_well, asked, held_seconds, reached_at
from gpudiag.rules.holders import flat, only_probed, quiet_share
from gpudiag.rules.sight import seen_seconds
from gpudiag.window import W5, W7D, EngineWindow, GpuWindow, NotMeasured
from gpudiag.workloads import POOLING_ENGINES

MINUTE = 60.0


@rule(
    severity="ok",
    rank=STATE,
    given=("idle", "holding", "engine"),
    explains=("memory-held-idle", "held-by-idle-process"),
)
def weights_loaded_idle(
    gpu: GpuWindow,
    *,
    min_quiet_share: float = 0.95,
    min_used_bytes: int = 512 << 20,
    max_pool_used_share: float = 0.70,
    max_probe_percent: float = 5.0,
) -> Fires | None:
    """A model is loaded and nobody asks for it."""
    engines = gpu.engines
    kinds = {e.reading.engine for e in engines} or {
        w.engine or "other" for w in gpu.workloads if w.kind == "engine"
    }
    if not kinds or any(e.reading.sleeping for e in engines):
        return None
    used, total = gpu.now("memory_used_bytes"), gpu.now("memory_total_bytes")
    if used < min_used_bytes or (kinds & POOLING_ENGINES and used >= max_pool_used_share * total):
        return None  # a pool: kv-pool-reserved-idle speaks
    quiet = quiet_share(gpu)
    counted = bool(engines) and all(e.reading.requests_running is not None for e in engines)
    probed = counted and only_probed(gpu, W5, max_probe_percent)
    if (quiet < min_quiet_share and not probed) or not flat(gpu):
        return None
    span = seen_seconds(gpu)
    evidence: list[Evidence] = [
        measured("memory_used_bytes", used, of=total, window=span),
        measured("quiet_ratio", quiet, window=span),
    ]
    if not engines or not all(map(_proven_alive, engines)):
        return _looks_like(evidence, engines)
    if any(_asked(engine) for engine in engines):
        return None
    reading = engines[0].reading
    words = {"engine": reading.name, "model": reading.model or "-"}
    if not gpu.covers(W5):
        return _looks_like(evidence, engines)
    if any(_may_be_asked(engine, gpu.node.time) for engine in engines):
        evidence += [
            measured("connections", e.reading.connections, source=e.reading.name)
            for e in engines
            if e.reading.connections is not None
        ]
        words |= {"pid": str(reading.pid or "PID")}
        return Fires(
            tuple(evidence), severity="info", confidence="possible", variant="may-be-asked", words=words
        )
    left = None if reading.unloads_at is None else reading.unloads_at - gpu.node.time
    if left is not None and 0 < left < W7D:
        evidence.append(measured("unloads_in_seconds", left, source=reading.name))
        return Fires(tuple(evidence), variant="unloads", words=words)
    return Fires(tuple(evidence), words=words)


def _looks_like(evidence: list[Evidence], engines: list[EngineWindow]) -> Fires:
    words = reached_at(_silent(engines))
    return Fires(tuple(evidence), severity="info", confidence="possible", variant="looks-like", words=words)


def _silent(engines: list[EngineWindow]) -> EngineWindow | None:
    """The engine to ask first: one that does not prove that it lives."""
    return next((e for e in engines if not _proven_alive(e)), engines[0] if engines else None)


def _proven_alive(engine: EngineWindow) -> bool:
    """Engines without workers of their own need no line of parents: their answer is proof."""
    return alive(engine) or (engine.reading.engine not in POOLING_ENGINES and answers_well(engine))


def _asked(engine: EngineWindow) -> bool:
    """Some engines do not say how many requests run: there the quiet GPU has to do, unless some wait."""
    reading = engine.reading
    if reading.requests_running is not None:
        return asked(engine)
    if not reading.metrics_ok and reading.connections is None:
        raise NotMeasured("engine", reason="unreachable")
    return reading.requests_waiting is not None and engine.share("waits", W5) > 0


def _may_be_asked(engine: EngineWindow, now: float) -> bool:
    """It does not say how many requests run, and clients are connected, or one holds the model."""
    reading = engine.reading
    unsaid = reading.requests_running is None
    return unsaid and (reading.connections != 0 or held_seconds(engine, now) > MINUTE)
