"""Hardly any prompt begins like an earlier one, as far as the engine's cache can tell."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.rules.engines import each, only_gpu, readable
from gpudiag.window import W5, EngineWindow, Window


@rule(severity="info", rank=HINT, maturity="experimental", given=("engine",))
def prefix_cache_cold(
    node: Window, *, max_hit_ratio: float = 0.05, min_queries: float = 1000.0
) -> list[Fires]:
    """Almost no prompt is reused."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if not reading.prefix_queries_total or reading.prefix_hits_total is None or not engine.covers(W5):
            return None
        queries = engine.rise("prefix_queries_total", W5)
        if queries < min_queries:
            return None
        hits = engine.rise("prefix_hits_total", W5) / queries
        if hits >= max_hit_ratio:
            return None
        name = reading.name
        return Fires(
            (
                measured("hit_ratio", round(hits, 4), window=W5, source=name),
                measured("prefix_queries", round(queries), window=W5, source=name),
            ),
            key=name,
            gpu=only_gpu(engine),
            words={"engine": name},
        )

    return each(readable(node), judged)
