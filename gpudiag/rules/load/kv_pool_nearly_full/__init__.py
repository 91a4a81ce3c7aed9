"""The KV pool is nearly full under load: the next step is waiting or preemption."""

from gpudiag.rule import CAPACITY, Fires, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, readable
from gpudiag.window import W5, EngineWindow, Window


@rule(severity="warning", rank=CAPACITY, given=("engine",), explains=("queue-building",))
def kv_pool_nearly_full(node: Window, *, min_kv_used_ratio: float = 0.90) -> list[Fires]:
    """The KV cache is nearly full under load."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if reading.kv_used_ratio is None or reading.requests_running is None:
            return None  # this engine has no such gauge
        used = engine.over("kv_used_ratio", W5)
        if used.mean < min_kv_used_ratio or engine.over("requests_running", W5).mean < 1:
            return None
        engine.require(W5)
        return _fires(node, engine, used.mean)

    return each(readable(node), judged)


def _fires(node: Window, engine: EngineWindow, used: float) -> Fires:
    reading = engine.reading
    name = reading.name
    waiting = 0.0 if reading.requests_waiting is None else engine.over("requests_waiting", W5).mean
    thrown = 0.0 if reading.preemptions_total is None else engine.rise("preemptions_total", W5)
    evidence = [
        measured("kv_used_ratio", round(used, 3), window=W5, source=name),
        measured(
            "requests_running", round(engine.over("requests_running", W5).mean, 1), window=W5, source=name
        ),
        measured("requests_waiting", round(waiting, 1), window=W5, source=name),
        measured("preemptions", round(thrown), window=W5, source=name),
    ]
    if reading.pool_bytes is not None:
        evidence.append(measured("pool_bytes", reading.pool_bytes, source=name))
    hurt = waiting >= 1 or thrown >= 1
    return Fires(
        tuple(evidence),
        severity="warning" if hurt else "info",
        variant=None if hurt else "efficient",
        key=name,
        gpu=only_gpu(engine),
        words={"engine": name, "gpus": gpus_of(node, engine), "model": reading.model or "MODEL"},
    )
