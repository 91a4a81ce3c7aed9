"""More is asked of the replica than it can serve: the queue grows."""

from collections.abc import Sequence

from gpudiag.model import Evidence
from gpudiag.rule import CAPACITY, Fires, declared, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, readable
from gpudiag.window import W5, W7D, EngineWindow, Window


@rule(severity="warning", rank=CAPACITY, maturity="experimental", given=("engine",))
def queue_building(
    node: Window,
    *,
    min_waiting_share: float = 0.8,
    min_running_share: float = 0.90,
    min_utilization_percent: float = 80.0,
    max_kv_used_ratio: float = 0.90,
) -> list[Fires]:
    """Demand exceeds what this replica serves."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if not reading.requests_waiting or reading.requests_running is None:
            return None
        if engine.share("waits", W5) < min_waiting_share:
            return None
        waiting, running = engine.over("requests_waiting", W5), engine.over("requests_running", W5)
        if reading.kv_used_ratio is not None and engine.over("kv_used_ratio", W5).mean >= max_kv_used_ratio:
            return None  # the pool is the limit: kv-pool-nearly-full
        limit = reading.max_num_seqs
        most = engine.over("requests_running", W7D).max
        if running.mean < min_running_share * (most if limit is None else min(most, limit)):
            return None  # it runs fewer than it could: something else holds them back
        if reading.waiting_reason == "deferred" or not _grows(waiting.highs):
            return None  # they wait for a transfer or a grammar; or the queue goes up and down
        if waiting.last <= waiting.first or _busiest(node, engine) < min_utilization_percent:
            return None
        engine.require(W5)
        if not _gets_on(engine):
            return None  # it serves nobody: serving-wedged, or nobody can tell
        name = reading.name
        evidence: list[Evidence] = [
            measured("requests_waiting", round(waiting.last), window=W5, source=name),
            measured("waiting_before", round(waiting.first), window=W5, source=name),
            measured("requests_running", round(running.mean, 1), window=W5, source=name),
        ]
        if limit is not None:
            evidence.append(declared("max_num_seqs", limit, source=name))
        return Fires(
            tuple(evidence),
            key=name,
            gpu=only_gpu(engine),
            words={"engine": name, "gpus": gpus_of(node, engine)},
        )

    return each(readable(node), judged)


def _grows(readings: Sequence[float]) -> bool:
    """Whether the last third of the readings is above all of the first third."""
    third = max(1, len(readings) // 3)
    return min(readings[-third:]) > max(readings[:third])


def _gets_on(engine: EngineWindow) -> bool:
    """Tokens come out or requests end, as far as it counts them."""
    for counter in ("generation_tokens_total", "requests_finished_total"):
        if getattr(engine.reading, counter) is not None:
            return engine.rise(counter, W5) > 0
    return True


def _busiest(node: Window, engine: EngineWindow) -> float:
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in (engine.reading.gpus or ())]
    return max((gpu.over("utilization_percent", W5).mean for gpu in gpus), default=0.0)
