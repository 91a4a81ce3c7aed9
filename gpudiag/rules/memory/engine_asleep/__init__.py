"""A serving engine sleeps: it gave its memory back and wakes with the next request."""

from gpudiag.rule import STATE, Fires, declared, measured, rule
from gpudiag.rules.engines import reached_at
from gpudiag.window import GpuWindow


@rule(
    severity="ok",
    rank=STATE,
    given=("idle", "engine"),
    explains=("memory-held-idle", "weights-loaded-idle", "gpu-free"),
)
def engine_asleep(gpu: GpuWindow) -> Fires | None:
    """The engine is asleep; its first request will wake it."""
    engine = next((e for e in gpu.engines if e.reading.sleeping), None)
    if engine is None or gpu.share("quiet", 120.0) < 0.9:
        return None
    reading = engine.reading
    evidence = [declared("sleeping", True, source=reading.name)]
    if gpu.reading.memory_used_bytes is not None:
        used, total = gpu.reading.memory_used_bytes, gpu.reading.memory_total_bytes
        evidence.append(measured("memory_used_bytes", used, of=total))
    words = {"engine": reading.name, **reached_at(engine)}
    return Fires(tuple(evidence), confidence="proven", words=words)
