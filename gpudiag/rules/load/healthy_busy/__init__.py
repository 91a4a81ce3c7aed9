"""The GPU works, and what it does can be seen or its power tells of it."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, calculated, measured, rule
from gpudiag.rules.engines import asked, counts_late, gets_on
from gpudiag.rules.load.evidence import MOST_PERCENT, real_work
from gpudiag.rules.sight import confidence, holds_nothing, seen_seconds
from gpudiag.window import W2, W5, EngineWindow, GpuWindow, NotMeasured

FEWEST_SAMPLES = 5


@rule(severity="ok", rank=STATE, given=("working",), explains=("memory-held-idle",))
def healthy_busy(
    gpu: GpuWindow,
    *,
    min_busy_percent: float = 70.0,
    min_some_percent: float = 5.0,
    max_light_percent: float = 90.0,
    min_power_share: float = 0.35,
    min_memory_percent: float = 10.0,
    min_active_ratio: float = 0.10,
    min_swing_percent: float = 25.0,
    min_hot_celsius: float = 85.0,
) -> Fires | None:
    """The GPU works normally."""
    if gpu.node.pasted and gpu.reading.utilization_percent is None:
        computes = _of_a_process(gpu, min_some_percent)
        if computes is not None:
            return computes
    if gpu.reading.error or not gpu.present or holds_nothing(gpu):
        return None
    busy, span = gpu.over("utilization_percent", W5).mean, seen_seconds(gpu)
    if busy < min_some_percent:
        busy, span = gpu.over("utilization_percent", W2).mean, seen_seconds(gpu, W2)  # it has just begun
    if busy < min_some_percent and not gpu.engines:
        return None
    seen: tuple[Evidence, ...] = (measured("utilization_percent", round(busy, 1), window=span),)
    made = _progress(gpu)
    if made is not None:  # where an engine is here and makes nothing, other rules say why
        return _serving(gpu, busy, (*seen, *made), min_busy_percent) if made else None
    if busy < min_some_percent:
        return None
    answered = _answered(gpu)
    if answered:
        return Fires((*seen, *answered), confidence=confidence(gpu), variant="requests")
    try:
        proof = real_work(gpu, min_power_share, min_memory_percent, min_active_ratio)
    except NotMeasured:
        swings = _swings(gpu, min_swing_percent)
        if not swings:
            raise
        return Fires((*seen, *swings), severity="info", confidence="possible", variant="comes-and-goes")
    if busy >= min_busy_percent and proof:
        if _may_be_held_by_heat(gpu, min_hot_celsius):
            hot = measured("temperature_celsius", gpu.now("temperature_celsius"))
            return Fires((*seen, *proof, hot), severity="info", confidence="possible", variant="hot")
        if _queues(gpu):
            waits = (*seen, *proof, *_waiting(gpu))
            return Fires(waits, severity="info", confidence="possible", variant="queues-uncounted")
        return Fires((*seen, *proof), confidence="possible", variant="progress-unseen")
    if busy >= max_light_percent:
        return None  # kernels that wait in a loop look like this: stuck-job, busy-but-inefficient
    return Fires((*seen, *proof), severity="info", confidence="possible", variant="some-work")


def _of_a_process(gpu: GpuWindow, min_percent: float) -> Fires | None:
    """`nvidia-smi pmon` alone: how long the busiest process computed. The GPU's own load is at least that."""
    uses = [
        (use.sm_percent, process)
        for process in gpu.processes
        for use in process.reading.gpus or ()
        if use.gpu == gpu.index and use.sm_percent is not None
    ]
    percent, process = max(uses, key=lambda use: use[0], default=(0.0, None))
    if process is None or percent < min_percent:
        return None
    return Fires(
        (measured("process_sm_percent", round(percent), source="pasted text"),),
        severity="info",
        confidence="possible",
        variant="of-a-process",
        words={"process": process.reading.name or "?", "pid": str(process.reading.pid)},
    )


def _serving(
    gpu: GpuWindow, busy: float, seen: tuple[Evidence, ...], min_busy_percent: float
) -> Fires | None:
    """Its engines make tokens: how busy the GPU is with that, and whether requests wait beside it."""
    if busy >= min_busy_percent or gpu.over("utilization_percent", W2).mean >= min_busy_percent:
        if not _queues(gpu):
            return Fires(seen, confidence=confidence(gpu))
        return Fires((*seen, *_waiting(gpu)), severity="info", confidence=confidence(gpu), variant="queues")
    if not _waits(gpu):
        return Fires(seen, confidence=confidence(gpu), variant="part-load")
    if busy < MOST_PERCENT:
        return None  # low-util-under-load
    return Fires(seen, severity="info", confidence="possible", variant="waits")


def _may_be_held_by_heat(gpu: GpuWindow, min_celsius: float) -> bool:
    """Whether a pasted sample is hot and shows neither its limits nor what holds the clocks."""
    reading = gpu.reading
    limits = (
        reading.temperature_margin_celsius,
        reading.temperature_slowdown_celsius,
        reading.clocks_event_reasons,
    )
    hot = reading.temperature_celsius is not None and reading.temperature_celsius >= min_celsius
    return gpu.node.pasted and hot and all(limit is None for limit in limits)


def _progress(gpu: GpuWindow) -> tuple[Evidence, ...] | None:
    """What the engines on it make: evidence, nothing when they make none, None when nobody can tell."""
    engines = gpu.engines
    return engines[0].once(_made_alone) if len(engines) == 1 else _made(engines)


def _made_alone(engine: EngineWindow) -> tuple[Evidence, ...] | None:
    return _made([engine])


def _made(all_engines: list[EngineWindow]) -> tuple[Evidence, ...] | None:
    engines = [e for e in all_engines if e.reading.generation_tokens_total is not None]
    if not engines or not engines[0].covers(W5):
        return None
    made = sum(_rate(engine, "generation_tokens_total") for engine in engines)
    prompts = sum(
        _rate(e, "prompt_tokens_total") for e in engines if e.reading.prompt_tokens_total is not None
    )
    if made + prompts <= 0 and any(counts_late(engine) or gets_on(engine) for engine in engines):
        return None
    if made + prompts <= 0:
        return () if any(asked(engine) for engine in engines) or len(engines) == len(all_engines) else None
    name = engines[0].reading.name
    running = sum(e.over("requests_running", W5).mean for e in engines)
    return (
        calculated("generation_tokens_per_second", round(made, 1), window=W5, source=name),
        measured("requests_running", round(running, 1), window=W5, source=name),
    )


def _rate(engine: EngineWindow, counter: str) -> float:
    stats = engine.over(counter, W5)
    return stats.mean * stats.n / max(1.0, stats.seconds)


def _waits(gpu: GpuWindow) -> bool:
    """Requests wait most of the time although the GPU has room: that is not normal."""
    return any(e.share("waits", W5) >= 0.5 for e in gpu.engines if e.reading.requests_waiting is not None)


def _answered(gpu: GpuWindow) -> tuple[Evidence, ...]:
    """Requests that ended, where nothing but engines is here and all of them answer; else nothing."""
    engines = gpu.engines
    pids = {pid for engine in engines for pid in engine.pids}
    if not engines or _queues(gpu) or any(p.reading.pid not in pids for p in gpu.users.at_work):
        return ()
    found = []
    for engine in engines:
        reading = engine.reading
        counted = reading.metrics_ok and reading.requests_finished_total is not None
        if not counted or not engine.covers(W5) or not engine.rise("requests_finished_total", W2):
            return ()
        ended = round(engine.rise("requests_finished_total", W5))
        found.append(measured("requests_finished", ended, window=W5, source=reading.name))
    return tuple(found)


def _queues(gpu: GpuWindow) -> bool:
    return True in [engine.once(_has_queue) for engine in gpu.engines]


def _has_queue(engine: EngineWindow, min_waiting: float = 2.0, min_ratio: float = 0.25) -> bool:
    """Requests wait nearly all the time, and not just one or two, as they do at any busy server."""
    reading = engine.reading
    if reading.requests_waiting is None or reading.waiting_reason == "deferred":
        return False
    waiting = engine.over("requests_waiting", W5).mean
    running = 0.0 if reading.requests_running is None else engine.over("requests_running", W5).mean
    return engine.share("waits", W5) >= 0.8 and waiting >= max(min_waiting, min_ratio * running)


def _waiting(gpu: GpuWindow) -> tuple[Evidence, ...]:
    return tuple(
        measured(
            "requests_waiting",
            round(e.over("requests_waiting", W5).mean, 1),
            window=W5,
            source=e.reading.name,
        )
        for e in gpu.engines
        if e.reading.requests_waiting is not None
    )


def _swings(gpu: GpuWindow, min_swing_percent: float) -> tuple[Evidence, ...]:
    """A series in which the load rises and falls: a kernel that only waits would hold it where it is."""
    load = gpu.over("utilization_percent", W5)
    paste = gpu.node.latest.paste if gpu.node.latest else None
    samples = paste.samples if paste else load.seconds
    if samples < FEWEST_SAMPLES or load.max - load.min < min_swing_percent:
        return ()
    # How long a few pasted samples took that lie within one row is not known to the row.
    window = None if paste and load.n == 1 else min(W5, load.seconds)
    return (
        measured("utilization_min_percent", load.min, window=window),
        measured("utilization_max_percent", load.max, window=window),
    )
