"""Requests wait although the KV pool has room: a setting is the limit."""

from gpudiag.rule import CAPACITY, Fires, declared, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, readable
from gpudiag.window import W5, EngineWindow, Window


@rule(severity="info", rank=CAPACITY, given=("engine",))
def queue_with_free_kv(
    node: Window, *, min_waiting_share: float = 0.8, max_kv_used_ratio: float = 0.70
) -> list[Fires]:
    """Requests queue although the KV pool has room."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        limit = reading.max_num_seqs
        if not reading.requests_waiting or not limit or reading.kv_used_ratio is None:
            return None
        if reading.waiting_reason == "deferred" or engine.share("waits", W5) < min_waiting_share:
            return None
        running, used = engine.over("requests_running", W5), engine.over("kv_used_ratio", W5)
        if running.min < limit or used.mean >= max_kv_used_ratio:
            return None
        engine.require(W5)
        name = reading.name
        return Fires(
            (
                measured(
                    "requests_waiting",
                    round(engine.over("requests_waiting", W5).mean, 1),
                    window=W5,
                    source=name,
                ),
                measured("kv_used_ratio", round(used.mean, 2), window=W5, source=name),
                declared("max_num_seqs", limit, source=name),
            ),
            key=name,
            gpu=only_gpu(engine),
            words={"engine": name, "gpus": gpus_of(node, engine)},
        )

    return each(readable(node), judged)
