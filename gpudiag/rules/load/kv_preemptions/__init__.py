"""The engine throws sequences out of the KV pool and computes them again."""

from gpudiag.rule import CAPACITY, Fires, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, readable
from gpudiag.window import W5, EngineWindow, Window


@rule(
    severity="warning",
    rank=CAPACITY,
    given=("engine",),
    explains=("kv-pool-nearly-full", "queue-building"),
    clear_seconds=120.0,  # it looks back five minutes by itself
)
def kv_preemptions(node: Window, *, min_minutes: int = 3, min_finished_share: float = 0.01) -> list[Fires]:
    """The engine throws sequences out and recomputes them."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if not reading.preemptions_total or not engine.covers(60.0):
            return None
        thrown = engine.rise("preemptions_total", W5)
        if thrown < 1:
            return None
        engine.require(W5)
        finished = (
            0.0 if reading.requests_finished_total is None else engine.rise("requests_finished_total", W5)
        )
        minutes = _minutes(engine)
        often = minutes >= min_minutes
        many = finished > 0 and minutes > 1 and thrown > min_finished_share * finished
        if not often and not many:
            return None  # one burst, as at the start of a benchmark
        name = reading.name
        evidence = [
            measured("preemptions", round(thrown), window=W5, source=name),
            measured("requests_finished", round(finished), window=W5, source=name),
        ]
        if reading.kv_used_ratio is not None:
            used = engine.over("kv_used_ratio", W5).mean
            evidence.append(measured("kv_used_ratio", round(used, 2), window=W5, source=name))
        return Fires(
            tuple(evidence),
            confidence="proven",
            key=name,
            gpu=only_gpu(engine),
            words={"engine": name, "gpus": gpus_of(node, engine), "model": reading.model or "MODEL"},
        )

    return each(readable(node), judged)


def _minutes(engine: EngineWindow) -> int:
    """In how many of the last five minutes it happened."""
    end = engine.track.table.fine.at[-1]
    rows = engine.track.series("preemptions_total", W5)
    return len({int((end - at) // 60) for at, value in rows if value >= 1})
