"""Requests are in the engine and no token comes out."""

from typing import Any

from gpudiag.model import EngineReading, Evidence
from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.rules.engines import (
    counts_late,
    each,
    gets_on,
    gpus_of,
    held_seconds,
    only_gpu,
    reached_at,
    readable,
)
from gpudiag.rules.load.evidence import real_work
from gpudiag.window import W5, W6H, W7D, EngineWindow, GpuWindow, NotMeasured, Window

MINUTE = 60.0


@rule(
    severity="critical",
    rank=STUCK,
    given=("engine",),
    explains=(
        "low-util-under-load",
        "cpu-bound-single-core",
        "memory-held-idle",
        "queue-building",
        "kv-pool-nearly-full",
        "queue-with-free-kv",
        "slow-first-token",
        "tp-spin-without-requests",
        "health-check-fails",
        "weights-loaded-idle",
    ),
)
def serving_wedged(
    node: Window,
    *,
    min_loaded_share: float = 0.95,
    max_power_share: float = 0.5,
    max_slow_share: float = 0.05,
) -> list[Fires]:
    """Requests are in the engine but no token comes out."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if reading.sleeping:
            return None
        if reading.engine == "ollama":
            return _held_model(node, engine)
        if reading.requests_running is None:
            held = reading.requests_waiting is not None and engine.share("waits", W5) >= min_loaded_share
            return _uncounted(node, engine) if held else None
        loaded = engine.share("loaded", W5)
        if loaded < min_loaded_share:
            _wait_for(engine, (min_loaded_share - loaded) * W5)
            return None
        if reading.generation_tokens_total is None:
            return _uncounted(node, engine)
        engine.require(W5)
        made = engine.over("generation_tokens_total", W5)
        if made.mean > 0 and not _crawls(engine, made.mean, max_slow_share):
            return None
        prompts = 0.0 if reading.prompt_tokens_total is None else engine.rise("prompt_tokens_total", W5)
        if prompts > 0 and made.mean == 0:
            return None  # a long prompt is being read
        if made.mean == 0 and gets_on(engine):
            return None
        if counts_late(engine):
            return _late(node, engine)
        if _long_prefill(node, engine, max_power_share):
            return None
        return _fires(node, engine)

    return each(readable(node), judged)


def _wait_for(engine: EngineWindow, seconds: float) -> None:
    """Raise NotMeasured where requests have been in it for a minute, and nothing has come out yet."""
    counted = engine.reading.generation_tokens_total is not None
    if not counted or engine.share("loaded", MINUTE) < 1.0 or engine.rise("generation_tokens_total", MINUTE):
        return
    raise NotMeasured("samples", reason="too_short", wait_seconds=max(10.0, seconds))


def _long_prefill(node: Window, engine: EngineWindow, max_power_share: float) -> bool:
    """The GPU draws the power of real work: a very long prompt may be under way."""
    for index in engine.reading.gpus or ():
        gpu = next((g for g in node.gpus.values() if g.index == index), None)
        if gpu is None or not gpu.reading.power_limit_watts or gpu.reading.power_watts is None:
            continue
        if gpu.over("power_watts", W5).mean >= max_power_share * gpu.reading.power_limit_watts:
            return True
    return False


def _late(node: Window, engine: EngineWindow) -> Fires | None:
    """An engine that counts its tokens at the end of a request: only what its GPUs do shows a long answer."""
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in gpus_of(node, engine)]
    if not gpus or (any(gpu.share("quiet", W5) < 0.95 for gpu in gpus) and not _spin(gpus)):
        if any(real_work(gpu) for gpu in gpus):
            return None
        raise NotMeasured("engine.steps_total")
    return _fires(node, engine) if _spin(gpus) or not _computes(node, engine) else None


def _spin(gpus: list[GpuWindow]) -> bool:
    """Their kernels wait in a loop: busy all the time, and no work in it."""
    return all(gpu.share("spinning", W5) >= 0.95 and not real_work(gpu) for gpu in gpus)


def _computes(node: Window, engine: EngineWindow, min_percent: float = 50.0) -> bool:
    """It answers on the CPU. Raises NotMeasured where nobody can tell."""
    if engine.reading.engine not in ("llama.cpp", "ollama"):
        return False  # the others need their GPUs, and may wait for them in a loop
    processes = [p for p in node.processes.values() if p.reading.pid in engine.pids]
    if not processes or any(process.reading.cpu_percent is None for process in processes):
        raise NotMeasured("processes", reason="no_permission")
    return any(process.over("cpu_percent", W5).mean >= min_percent for process in processes)


def _held_model(node: Window, engine: EngineWindow) -> Fires | None:
    """Ollama: a request has held the model since before it would have been unloaded, and nothing computes."""
    held = held_seconds(engine, node.time)
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in gpus_of(node, engine)]
    if held < W5 or not gpus or any(gpu.share("quiet", W5) < 0.95 for gpu in gpus):
        return None
    engine.require(W5)
    if not node.covers(min(held, W6H)) or _computes(node, engine):
        return None  # a machine that slept unloads a little later
    reading = engine.reading
    return Fires(
        (
            measured("held_seconds", round(held), source=reading.name),
            measured("quiet_ratio", min(gpu.share("quiet", W5) for gpu in gpus), window=W5),
        ),
        severity="warning",
        confidence="likely",
        variant="held",
        key=reading.name,
        gpu=only_gpu(engine),
        words=_words(node, engine),
    )


def _uncounted(node: Window, engine: EngineWindow) -> Fires | None:
    """An engine without a counter of tokens: no request ends and its GPUs do nothing at all."""
    reading = engine.reading
    if reading.requests_finished_total is None:
        raise NotMeasured("engine.generation_tokens_total")
    engine.require(W5)
    if engine.rise("requests_finished_total", W5) > 0:
        return None
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in (reading.gpus or ())]
    if not gpus or any(gpu.share("quiet", W5) < 0.95 for gpu in gpus):
        raise NotMeasured("engine.generation_tokens_total")  # a long answer may be under way
    return Fires(
        (
            *_held(reading),
            measured("requests_finished", 0, window=W5, source=reading.name),
            measured("quiet_ratio", min(gpu.share("quiet", W5) for gpu in gpus), window=W5),
        ),
        variant="uncounted",
        key=reading.name,
        gpu=only_gpu(engine),
        words=_words(node, engine),
    )


def _held(reading: EngineReading) -> list[Evidence]:
    """The requests in it, running and waiting, as far as it tells."""
    names = ("requests_running", "requests_waiting")
    values = [(name, getattr(reading, name)) for name in names]
    return [measured(name, value, source=reading.name) for name, value in values if value is not None]


def _words(node: Window, engine: EngineWindow) -> dict[str, Any]:
    reading = engine.reading
    return {
        "engine": reading.name,
        "gpus": gpus_of(node, engine),
        "pid": str(reading.pid or "PID"),
        "model": reading.model or "-",
        **reached_at(engine),
    }


def _crawls(engine: EngineWindow, rate: float, max_share: float) -> bool:
    """A few tokens come out: hardly any of what it makes on average, quiet hours included."""
    if not engine.covers(W6H) or rate >= max_share * engine.over("generation_tokens_total", W7D).mean:
        return False
    running = engine.over("requests_running", W5).mean  # fewer requests make fewer tokens
    return running >= 0.5 * engine.over("requests_running", W7D).mean


def _fires(node: Window, engine: EngineWindow) -> Fires:
    reading = engine.reading
    made = round(engine.rise("generation_tokens_total", W5))
    evidence = [*_held(reading), measured("generation_tokens", made, window=W5, source=reading.name)]
    if reading.health_ok is not None:
        evidence.append(measured("health", reading.health_ok, source=reading.name))
    return Fires(
        tuple(evidence),
        severity="warning" if made else None,
        confidence="possible" if made else None,
        variant="crawling" if made else None,
        key=reading.name,
        gpu=only_gpu(engine),
        words=_words(node, engine),
    )
