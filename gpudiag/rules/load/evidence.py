"""Evidence of load: without it a quiet GPU is idle, never slow."""

from __future__ import annotations

from typing import NamedTuple

from gpudiag.model import Evidence
from gpudiag.rule import declared, measured
from gpudiag.rules.jobs import partners
from gpudiag.window import W2, W5, W7D, W30, EngineWindow, GpuWindow, NotMeasured, ProcessWindow

MOST_PERCENT = 30.0  # mean utilization that is still called low
OTHERS_PERCENT = 60.0  # a sibling GPU of the same engine that works this much does the work
ASKED_SHARE = 0.8  # of the samples in which somebody asked
WORKED_PERCENT = 50.0  # a training process that once reached this has work to do
USUAL_REST = 0.10  # power at rest as a share of the limit, where the GPU was never seen at rest
RESTING_PERCENT = 10.0
BURST_PERCENT = 80.0
GAP_SHARE = 0.25  # of the time without work, from which on bursts have gaps between them
GAPPY_PERCENT = 70.0  # more on average leaves no such gaps
MEMORY_SECONDS = 43_200.0  # how far back that is looked for
IMPOSSIBLE_SHARE = 2.0  # of the power limit: what the sensor says then is no measurement
PLENTY_WATTS = 300.0  # no GPU draws this much without real work; used where the limit is not shown


class Load(NamedTuple):
    """Who asks for work: `requests` of an engine, a `training` process, or a `declared` expectation."""

    kind: str
    evidence: tuple[Evidence, ...]
    engine: EngineWindow | None = None
    process: ProcessWindow | None = None


def load_on(gpu: GpuWindow) -> Load | None:
    """What shows that this GPU has work to do, or None. Raises NotMeasured when an engine cannot be read."""
    engines = gpu.engines
    for engine in engines:
        if engine.reading.metrics_ok and engine.share("loaded", W5) >= ASKED_SHARE:
            return Load("requests", _asked(engine), engine=engine)
    training = next((p for p in gpu.processes if p.workload.kind == "training" or p.reading.ranks), None)
    best = max(_worked_before(gpu, training), _bursts(gpu)) if training is not None else 0.0
    if training is not None and best >= WORKED_PERCENT:
        evidence = measured("best_percent", round(best), window=MEMORY_SECONDS)
        return Load("training", (evidence,), process=training)
    labels = gpu.node.latest.labels if gpu.node.latest else None
    if labels and labels.get("expected_busy", "").lower() in ("1", "true", "yes"):
        return Load("declared", (declared("expected_busy", True, source="label"),))
    if any(w.kind == "engine" for w in gpu.workloads) and not any(e.reading.metrics_ok for e in engines):
        raise NotMeasured("engine", reason="unreachable" if engines else None)
    return None


def _worked_before(gpu: GpuWindow, process: ProcessWindow) -> float:
    """The best it did in its life before the last five minutes: work that has just begun is no evidence."""
    first, last = process.reading.started_at or 0.0, gpu.node.time - W5
    rows = [
        *gpu.track.series("utilization_percent", MEMORY_SECONDS),
        *gpu.track.series("utilization_percent", 3600.0),
    ]
    return max((value for at, value in rows if first <= at <= last), default=0.0)


def _bursts(gpu: GpuWindow) -> float:
    """The height of bursts that go on for longer than two minutes; 0 where there are none.

    Work that has just begun would fill so much of the last five minutes that they were not low.
    """
    highs = gpu.over("utilization_percent", W5).highs
    best = max(highs[: max(1, len(highs) * 3 // 5)])
    return best if best >= BURST_PERCENT else 0.0


def _asked(engine: EngineWindow) -> tuple[Evidence, ...]:
    name = engine.reading.name
    found = [
        measured(
            "requests_running", round(engine.over("requests_running", W5).mean, 1), window=W5, source=name
        )
    ]
    if engine.reading.requests_waiting is not None:
        waiting = round(engine.over("requests_waiting", W5).mean, 1)
        found.append(measured("requests_waiting", waiting, window=W5, source=name))
    return tuple(found)


def starved(gpu: GpuWindow, most_percent: float = MOST_PERCENT) -> Load | None:
    """The load of a GPU that has work and is mostly idle; None when it is busy, asked for nothing, or copies.

    Raises NotMeasured when utilization or an engine cannot be read, or was not watched for long enough.
    """
    if gpu.over("utilization_percent", W5).mean >= most_percent:
        return None
    load = load_on(gpu)
    if load is None:
        return None
    gpu.require(W5)
    asks = load.engine or load.process
    if asks is not None:
        asks.require(W5)  # what the GPU did before somebody asked is no evidence
    if gpu.over("utilization_percent", W2).mean >= WORKED_PERCENT:
        return None  # it has gone on
    if load.engine is not None and _another_works(gpu, load.engine):
        return None
    if load.process is not None and writes_checkpoint(load.process):
        return None
    return load


def fed_too_late(gpu: GpuWindow) -> Load | None:
    """The load of a starved GPU, or of one on which a training job works in bursts with gaps between them.

    For causes that are seen by themselves: the gaps alone prove none.
    """
    load = starved(gpu)
    if load is not None or gpu.over("utilization_percent", W5).mean >= GAPPY_PERCENT:
        return load
    if gpu.share("quiet", W5) < GAP_SHARE or not _bursts(gpu):
        return None
    load = starved(gpu, GAPPY_PERCENT)
    return load if load is not None and load.kind == "training" else None


def rests_in_turns(gpu: GpuWindow, load: Load) -> bool:
    """Training that has rested for minutes and gone on by itself, twice within an hour, and does so again.

    Reinforcement learning waits for its rollouts, others evaluate or save: that is their rhythm. One that
    rests for much longer than before is out of it.
    """
    if load.kind != "training":
        return False
    rests: list[float] = []
    began: float | None = None  # of the rest that goes on
    worked = False
    for at, value in gpu.track.series("utilization_percent", 3600.0):
        if value < RESTING_PERCENT:
            began = at if began is None else began
            continue
        if began is not None and worked:
            rests.append(at - began)
        began, worked = None, worked or value >= WORKED_PERCENT
    rests = [seconds for seconds in rests if seconds >= W2]
    now = 0.0 if began is None else gpu.node.time - began
    return len(rests) >= 2 and now <= 1.4 * max(rests) + 60.0


def waits_its_turn(gpu: GpuWindow, load: Load) -> list[int]:
    """The GPUs of its job that work while training rests for minutes, since half an hour at most."""
    if load.kind != "training" or gpu.over("utilization_percent", W30).max < WORKED_PERCENT:
        return []
    return partners_at_work(gpu) if _longest_rest(gpu, W5) >= W2 else []


def partners_at_work(gpu: GpuWindow) -> list[int]:
    """Other GPUs of its job that do real work; a rank that hangs lets the others spin, which is none."""
    return [other.index for other in partners(gpu) if _works(other)]


def _works(gpu: GpuWindow) -> bool:
    try:
        busy = max(gpu.over("utilization_percent", span).mean for span in (W2, W5))
        return busy >= WORKED_PERCENT and bool(real_work(gpu))
    except NotMeasured:
        return False


def _longest_rest(gpu: GpuWindow, span: float) -> float:
    """The longest time at a stretch in which next to nothing ran: gaps between bursts are short."""
    longest, began = 0.0, None
    for at, value in gpu.track.series("utilization_percent", span):
        if value >= RESTING_PERCENT:
            began = None
            continue
        began = at if began is None else began
        longest = max(longest, at - began)
    return longest + gpu.node.interval


def _another_works(gpu: GpuWindow, engine: EngineWindow) -> bool:
    """Another GPU of the same engine does the work: roles differ, nothing is starved."""
    mine = set(engine.reading.gpus or ())
    others = (g for g in gpu.node.gpus.values() if g.index in mine and g is not gpu)
    return any(g.over("utilization_percent", W5).mean >= OTHERS_PERCENT for g in others)


def writes_checkpoint(process: ProcessWindow, min_rate: float = 50e6) -> bool:
    """A training process that mostly writes is saving its state."""
    if process.reading.write_bytes_per_second is None:
        return False
    written = process.over("write_bytes_per_second", W5).mean
    if process.reading.read_bytes_per_second is None:
        return written >= min_rate
    return written >= min_rate and written > 2 * process.over("read_bytes_per_second", W5).mean


def feeders(gpu: GpuWindow, load: Load) -> list[ProcessWindow]:
    """Processes whose threads feed the GPU: those on it and the engine's server."""
    found = list(gpu.processes)
    if load.engine is not None:
        pids = load.engine.pids - {p.reading.pid for p in found}
        found += [p for p in gpu.node.processes.values() if p.reading.pid in pids]
    return found


def hottest(processes: list[ProcessWindow]) -> tuple[ProcessWindow, float, float]:
    """The process with the hottest thread, its mean percent of one core, and the next thread's."""
    read = [p for p in processes if p.reading.threads is not None]
    if not read:
        raise NotMeasured("threads", reason="no_permission" if processes else None)
    process = max(read, key=lambda p: p.over("hottest_thread_percent", W5).mean)
    return (
        process,
        process.over("hottest_thread_percent", W5).mean,
        process.over("next_thread_percent", W5).mean,
    )


def low_utilization(gpu: GpuWindow) -> Evidence:
    return measured("utilization_percent", round(gpu.over("utilization_percent", W5).mean, 1), window=W5)


def working_watts(gpu: GpuWindow, limit: float, share: float) -> float:
    """Power that kernels which only wait do not reach: rest, and a third of the way to the limit."""
    try:
        rest = gpu.over("idle_power_watts", W7D).mean
    except NotMeasured:
        rest = USUAL_REST * limit
    return rest + share * (limit - rest)


def real_work(
    gpu: GpuWindow,
    min_power_share: float = 0.35,
    min_memory_percent: float = 10.0,
    min_active_ratio: float = 0.10,
) -> tuple[Evidence, ...]:
    """Signs of real work that 100 % utilization alone does not give; raises NotMeasured when none is read."""
    reading, missing = gpu.reading, []
    try:
        power, limit = gpu.over("power_watts", W5).mean, reading.power_limit_watts
        if limit is not None and power > IMPOSSIBLE_SHARE * limit:
            raise NotMeasured("power_watts", reason="nonsense")
        if power >= (PLENTY_WATTS if limit is None else working_watts(gpu, limit, min_power_share)):
            return (measured("power_watts", round(power), of=None if limit is None else round(limit)),)
        if limit is None:
            missing.append("power_limit_watts")
    except NotMeasured as absent:
        missing += absent.missing
    if reading.memory_utilization_percent is None:
        missing.append("memory_utilization_percent")
    elif gpu.over("memory_utilization_percent", W5).mean >= min_memory_percent:
        moved = gpu.over("memory_utilization_percent", W5).mean
        return (measured("memory_utilization_percent", round(moved, 1)),)
    for name in ("tensor_active_ratio", "dram_active_ratio"):
        value = getattr(reading, name)
        if value is not None and value >= min_active_ratio:
            return (measured(name, value),)
    if len(missing) > 1:
        raise NotMeasured(*missing)
    return ()


def usable_pcie(gpu: GpuWindow) -> float:
    """Bytes a second that the link carries in one direction, after its own overhead."""
    lane = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
    generation = int(gpu.now("pcie_link_generation"))
    return lane.get(generation, lane[6]) * float(gpu.now("pcie_link_width")) * 0.85
