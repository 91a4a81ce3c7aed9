"""Each step carries too little work to fill the GPU."""

from gpudiag.rule import INEFFICIENT, Fires, declared, measured, rule
from gpudiag.rules.load.evidence import low_utilization, starved
from gpudiag.window import W5, EngineWindow, GpuWindow


@rule(severity="info", rank=INEFFICIENT, given=("working", "loaded", "engine"), also="low-util-under-load")
def small_batch(
    gpu: GpuWindow,
    *,
    max_running: float = 4.0,
    max_running_share: float = 0.10,
    max_active_ratio: float = 0.40,
    max_tensor_ratio: float = 0.10,
) -> Fires | None:
    """Each step carries too little work."""
    calm = [e for e in gpu.engines if (e.reading.requests_running or 0) <= max_running]
    engines = [e for e in calm if e.once(_few, max_running, max_running_share)]
    if not engines:
        return None
    gpu.require(W5)
    engine = engines[0]
    low = starved(gpu) is not None
    evidence = [
        measured(
            "requests_running",
            round(engine.over("requests_running", W5).mean, 1),
            window=W5,
            source=engine.reading.name,
        ),
        low_utilization(gpu),
    ]
    if engine.reading.max_num_seqs is not None:
        evidence.append(declared("max_num_seqs", engine.reading.max_num_seqs, source=engine.reading.name))
    if not low:
        active = gpu.over("sm_active_ratio", W5).mean
        tensor = gpu.reading.tensor_active_ratio
        if active >= max_active_ratio or (tensor is not None and tensor >= max_tensor_ratio):
            return None
        evidence.append(measured("sm_active_ratio", round(active, 2), window=W5))
    return Fires(tuple(evidence), severity="warning" if low else "info", confidence="likely" if low else None)


def _few(engine: EngineWindow, max_running: float, max_share: float) -> bool:
    """A few requests run all the time and none waits."""
    reading = engine.reading
    if not reading.metrics_ok or engine.share("loaded", W5) < 0.8:
        return False
    running = engine.over("requests_running", W5)
    limit = reading.max_num_seqs
    few = running.max <= max_running and (limit is None or running.mean <= max_share * limit)
    none_waits = reading.requests_waiting is None or engine.over("requests_waiting", W5).max == 0
    return few and none_waits
