"""100 % busy at nearly idle power, and nothing moves: most likely a collective that hangs."""

from math import sqrt
from typing import Any

from gpudiag.owners import cancelling
from gpudiag.rule import STUCK, Fires, calculated, measured, rule
from gpudiag.rules.jobs import partners
from gpudiag.window import W2, W5, W7D, W15, EngineWindow, GpuWindow, NotMeasured

IDLE_SHARE_OF_LIMIT = 0.10  # where this GPU was never seen idle
CLEARLY_WORKING_SHARE = 0.6  # of the limit: no card idles so high that this could be little
STILL_BYTES_PER_SECOND = 50e6
SAME_MEMORY_SHARE = 0.02  # of the card: ranks of one job differ by less
LOADED_SHARE = 0.10  # of the card: GPUs that hold less may be alike because they are empty


@rule(
    severity="critical",
    rank=STUCK,
    maturity="experimental",
    given=("spinning",),
    explains=(
        "healthy-busy",
        "busy-but-inefficient",
        "low-util-under-load",
        "small-batch",
        "memory-bandwidth-bound",
        "allocated-gpus-unused",
    ),
)
def stuck_job(
    gpu: GpuWindow,
    *,
    min_spinning_ratio: float = 0.95,
    max_memory_utilization_percent: float = 5.0,
    max_power_share: float = 0.35,
    max_power_variation: float = 0.03,
) -> Fires | None:
    """Busy all the time at little more than idle power, without any sign of progress."""
    if gpu.over("utilization_percent", W5).mean < 95.0 or gpu.share("spinning", W5) < min_spinning_ratio:
        return None
    power = gpu.over("power_watts", W5)
    if power.mean > CLEARLY_WORKING_SHARE * gpu.now("power_limit_watts"):
        return None
    ceiling = _ceiling(gpu, max_power_share)
    if power.mean > ceiling:
        return None
    if gpu.node.pasted and gpu.reading.memory_utilization_percent is None:
        beside = _beside_one_that_rests(gpu, max_power_share)
        if beside is not None:
            return beside
    if _progress(gpu, max_memory_utilization_percent):
        return None
    if gpu.node.latest is not None and gpu.node.latest.source == "agent":
        gpu.require(W5)  # an agent goes on looking; a person who asks once is told what may be
    if not gpu.covers(W5):
        return _short(gpu, ceiling)
    if _variation(gpu) > max_power_variation:
        return None
    return _of(gpu, ceiling)


def _ceiling(gpu: GpuWindow, share: float) -> float:
    """Power below which a busy GPU hardly works: idle power and a third of the way to the limit."""
    limit = gpu.now("power_limit_watts")
    return _idle(gpu, limit) + share * (limit - _idle(gpu, limit))


def _idle(gpu: GpuWindow, limit: float) -> float:
    try:
        return gpu.over("idle_power_watts", W7D).mean
    except NotMeasured:
        return IDLE_SHARE_OF_LIMIT * limit


def _progress(gpu: GpuWindow, max_memory_utilization: float) -> bool:
    """Any sign of work: memory traffic, tensor cores, copies, tokens. Power alone never proves a hang."""
    if gpu.over("memory_utilization_percent", W5).mean > max_memory_utilization:
        return True
    for name, most in (("dram_active_ratio", 0.05), ("tensor_active_ratio", 0.01)):
        if (_mean(gpu, name) or 0.0) > most:
            return True
    copies = (_mean(gpu, "pcie_rx_bytes_per_second") or 0.0) + (_mean(gpu, "pcie_tx_bytes_per_second") or 0.0)
    if copies + (_mean(gpu, "nvlink_bytes_per_second") or 0.0) > STILL_BYTES_PER_SECOND:
        return True
    memory = gpu.over("memory_used_bytes", W5)
    if memory.max - memory.min > 0.01 * memory.max:
        return True
    fastest, clock = gpu.reading.sm_clock_max_megahertz, _mean(gpu, "sm_clock_megahertz")
    if fastest and clock is not None and clock < 0.8 * fastest and not gpu.node.pasted:
        return True  # low clocks are another story: clocks-stuck-low
    read = [engine for engine in gpu.engines if engine.reading.metrics_ok]
    if any(map(_tells, read)):
        return True
    if gpu.engines and not read:
        raise NotMeasured("engine", reason="unreachable")
    return False


def _tells(engine: EngineWindow) -> bool:
    """Its own counters tell (serving-wedged, tp-spin-without-requests), or requests end.

    Ollama and Triton do not say how many run.
    """
    reading = engine.reading
    if reading.requests_running is not None:
        return True
    return reading.requests_finished_total is not None and engine.rise("requests_finished_total", W5) > 0


def _mean(gpu: GpuWindow, name: str) -> float | None:
    try:
        return gpu.over(name, W5).mean
    except NotMeasured:
        return None


def _variation(gpu: GpuWindow) -> float:
    """Standard deviation of the power over its mean."""
    watts = [value for _, value in gpu.track.series("power_watts", W5)]
    mean = sum(watts) / len(watts)
    return sqrt(sum((w - mean) ** 2 for w in watts) / len(watts)) / mean if mean else 0.0


def _short(gpu: GpuWindow, ceiling: float) -> Fires:
    """One sample, or a few: it looks like a hang, and it may be one."""
    power = gpu.over("power_watts", W5)
    return Fires(
        (
            measured("utilization_percent", gpu.over("utilization_percent", W5).mean),
            measured("power_watts", power.mean, of=gpu.now("power_limit_watts")),
            calculated("little_power_watts", ceiling),
            measured("memory_utilization_percent", gpu.over("memory_utilization_percent", W5).mean),
        ),
        severity="warning",
        confidence="possible",
        variant="short",
        words=_job_on(gpu),
    )


def _of(gpu: GpuWindow, ceiling: float) -> Fires:
    others = partners(gpu)
    spinning = [other for other in others if _share(other, "spinning") >= 0.9]
    differs = [other for other in others if _share(other, "quiet") >= 0.9 or not other.present]
    confirmed = gpu.covers(W15) and gpu.share("spinning", W15) >= 0.9
    evidence = (
        measured("spinning_ratio", gpu.share("spinning", W5), window=W5),
        measured("power_watts", gpu.over("power_watts", W5).mean, of=gpu.now("power_limit_watts"), window=W5),
        calculated("little_power_watts", ceiling),
        measured("memory_utilization_percent", gpu.over("memory_utilization_percent", W5).mean, window=W5),
        calculated("stuck_gpus", 1 + len(spinning), of=1 + len(others)),
    )
    if not spinning:
        words = _job_on(gpu)
        return Fires(
            evidence, severity="warning", confidence="possible", variant="spinning-kernel", words=words
        )
    suspect = differs[0].index if len(differs) == 1 else None
    return Fires(
        evidence if suspect is None else (*evidence, calculated("suspect_gpu", suspect)),
        severity="critical" if confirmed else "warning",
        confidence="likely" if confirmed else "possible",
        variant="suspect" if suspect is not None else None,
        words=_job_on(gpu) if suspect is None else {**_job_on(differs[0]), "suspect": suspect},
    )


def _beside_one_that_rests(gpu: GpuWindow, max_power_share: float) -> Fires | None:
    """A table tells no memory traffic, but ranks of a job hold the same: all spin at little power but one."""
    held, total = gpu.now("memory_used_bytes"), gpu.now("memory_total_bytes")
    alike = [
        other
        for other in gpu.node.gpus_in_order()
        if other.reading.name == gpu.reading.name
        and abs((other.reading.memory_used_bytes or 0) - held) <= SAME_MEMORY_SHARE * total
    ]
    if held < LOADED_SHARE * total or any(p.workload.kind == "engine" for g in alike for p in g.processes):
        return None
    resting = [other for other in alike if other.reading.utilization_percent == 0]
    spinning = [other for other in alike if _spins_in_sample(other, max_power_share)]
    if len(resting) != 1 or len(spinning) < 2 or len(spinning) + 1 != len(alike):
        return None
    return Fires(
        (
            measured("utilization_percent", gpu.now("utilization_percent")),
            measured("power_watts", gpu.now("power_watts"), of=gpu.now("power_limit_watts")),
            calculated("stuck_gpus", len(spinning), of=len(alike)),
            calculated("suspect_gpu", resting[0].index),
        ),
        severity="warning",
        confidence="possible",
        variant="one-rests",
        words={**_job_on(resting[0]), "suspect": resting[0].index},
    )


def _spins_in_sample(gpu: GpuWindow, max_power_share: float) -> bool:
    reading = gpu.reading
    if reading.utilization_percent is None or reading.power_watts is None or not reading.power_limit_watts:
        return False
    return reading.utilization_percent >= 95.0 and reading.power_watts <= _ceiling(gpu, max_power_share)


def _share(gpu: GpuWindow, condition: str) -> float:
    try:
        return gpu.share(condition, W2)
    except NotMeasured:
        return 0.0


def _job_on(gpu: GpuWindow) -> dict[str, Any]:
    """What commands about the job on a GPU name: a process of it, and what ends the whole job."""
    reading = next((process.reading for process in gpu.processes), None)
    if reading is None:
        return {"pid": "PID", "cancel": "kill PID"}
    return {"pid": str(reading.pid), "cancel": cancelling(reading) or f"kill {reading.pid}"}
