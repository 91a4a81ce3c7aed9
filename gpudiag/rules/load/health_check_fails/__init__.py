"""A serving engine says of itself that it is not well, though its numbers can be read."""

from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, reached_at
from gpudiag.window import W5, EngineWindow, NotMeasured, Window


@rule(
    severity="warning",
    rank=STUCK,
    confidence="proven",
    given=("engine",),
    explains=(
        "healthy-busy",
        "kv-pool-reserved-idle",
        "weights-loaded-idle",
        "memory-held-idle",
        "held-by-idle-process",
    ),
)
def health_check_fails(node: Window, *, min_age_seconds: float = 600.0, min_failures: int = 3) -> list[Fires]:
    """A serving engine's health check says no."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if reading.health_ok is not False or not reading.metrics_ok:
            return None  # engine-metrics-unreachable, where neither answers
        if _starts(node, engine, min_age_seconds):
            return None
        made = _makes(engine)
        span = W5 if made else node.span_of(min_failures)  # it may only finish its last requests
        told = engine.over("healthy", span)
        if told.max > 0 or told.n < min_failures or not engine.covers(span):
            return None
        return _fires(node, engine, span, made)

    return each(node.engines.values(), judged)


def _starts(node: Window, engine: EngineWindow, min_age: float) -> bool:
    """Young, and not well yet: it warms up."""
    started = next(
        (p.reading.started_at for p in node.processes.values() if p.reading.pid == engine.reading.pid), None
    )
    young = started is not None and node.time - started < min_age
    return young and engine.over("healthy", W5).max == 0


def _makes(engine: EngineWindow) -> bool | None:
    """Whether tokens still come out; None where it does not count them."""
    try:
        return engine.rise("generation_tokens_total", W5) > 0
    except NotMeasured:
        return None


def _fires(node: Window, engine: EngineWindow, span: float, made: bool | None) -> Fires:
    reading = engine.reading
    evidence = [measured("health", False, window=span, source=reading.name)]
    if reading.requests_running is not None:
        evidence.append(measured("requests_running", reading.requests_running, source=reading.name))
    if made is not None:
        tokens = round(engine.rise("generation_tokens_total", W5))
        evidence.append(measured("generation_tokens", tokens, window=W5, source=reading.name))
    return Fires(
        tuple(evidence),
        variant="makes" if made else None,
        key=reading.name,
        gpu=only_gpu(engine),
        words={
            "engine": reading.name,
            **reached_at(engine),
            "pid": str(reading.pid or "PID"),
            "gpus": gpus_of(node, engine),
        },
    )
