"""A server or a job is starting: it reads weights, compiles or captures graphs."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.engines import follows
from gpudiag.window import W5, W15, W30, EngineWindow, GpuWindow, ProcessWindow

OWN_PERCENT = 5.0  # less than this is no work of its own: what was seen before is another's


@rule(
    severity="ok",
    rank=STATE,
    maturity="experimental",
    given=("process",),
    explains=(
        "low-util-under-load",
        "cpu-bound-single-core",
        "cpu-saturated",
        "storage-bound",
        "memory-held-idle",
        "memory-growing",
        "kv-pool-reserved-idle",
        "weights-loaded-idle",
        "engine-metrics-unreachable",
        "idle-cpu-spin",
    ),
)
def model_loading(
    gpu: GpuWindow,
    *,
    max_age_seconds: float = W30,
    max_utilization_percent: float = 20.0,
    min_read_rate: float = 50e6,
    min_growth_share: float = 0.01,
    min_cpu_percent: float = 50.0,
) -> Fires | None:
    """A model or a job is starting."""
    young = gpu.node.time - 2 * W30
    starting = [p for p in gpu.processes if (p.reading.started_at or 0.0) >= young and _may_load(gpu, p)]
    if not starting:
        return None
    process = starting[0]
    age = gpu.node.time - (process.reading.started_at or 0.0)
    load = gpu.over("utilization_percent", min(W5, _alone_seconds(gpu, process)))
    if age > 2 * max_age_seconds or load.mean >= max_utilization_percent:
        return None
    signs = _signs(gpu, process, min_read_rate, min_growth_share, min_cpu_percent)
    words = {"process": process.reading.name or "-", "pid": str(process.reading.pid)}
    head = measured("age_seconds", round(age), source="/proc")
    if age > max_age_seconds:
        if _server_of(gpu, process) is None or not signs:
            return None
        return Fires((head, *signs), severity="warning", variant="slow", words=words)
    if not signs:
        stalled = _server_of(gpu, process) is not None and age > W15 and gpu.covers(W5)
        still = measured("utilization_percent", round(gpu.over("utilization_percent", W5).mean), window=W5)
        return Fires((head, still), severity="warning", variant="stalled", words=words) if stalled else None
    alone = len(starting) == len(gpu.users.at_work) and load.mean < OWN_PERCENT
    return Fires((head, *signs), words=words, also_explains=("healthy-busy",) if alone else ())


def _may_load(gpu: GpuWindow, process: ProcessWindow) -> bool:
    """It is young, and an engine that never answered or a job that never worked."""
    if process.workload.kind not in ("engine", "training", "python", "framework"):
        return False
    if process.reading.started_at is None or gpu.node.pasted:
        return False
    server = _server_of(gpu, process)
    if server is not None:
        reading = server.reading
        gone = reading.parent_alive is False  # orphaned-engine
        return not (gone or reading.ever_answered or reading.metrics_ok or reading.health_ok)
    if process.workload.kind == "engine" and not process.reading.gpus:
        return False
    return gpu.over("utilization_percent", min(_alone_seconds(gpu, process), W30)).max < 50.0


def _alone_seconds(gpu: GpuWindow, process: ProcessWindow) -> float:
    """Since when the load is its own: whoever was here before may have worked."""
    age = gpu.node.time - (process.reading.started_at or 0.0)
    return max(gpu.node.interval, age - gpu.node.interval)


def _server_of(gpu: GpuWindow, process: ProcessWindow) -> EngineWindow | None:
    """The server that it belongs to; None where nobody can be asked whether it is ready."""
    server = next((engine for engine in gpu.engines if process.reading.pid in engine.pids), None)
    return None if server is None or follows(gpu.node, server) else server


def _signs(
    gpu: GpuWindow, process: ProcessWindow, min_read_rate: float, min_growth: float, min_cpu: float
) -> tuple[Evidence, ...]:
    """What shows that it gets on: memory that grows, bytes that are read, a CPU at work."""
    found = []
    memory, total = gpu.over("memory_used_bytes", W5), gpu.now("memory_total_bytes")
    if memory.last - memory.first > min_growth * total:
        found.append(measured("growth_bytes", memory.last - memory.first, window=W5))
    reading = process.reading
    if reading.read_bytes_per_second is not None:
        rate = process.over("read_bytes_per_second", W5).mean
        if rate > min_read_rate:
            found.append(measured("read_bytes_per_second", rate, window=W5, source="/proc"))
    if reading.cpu_percent is not None:
        cpu = process.over("cpu_percent", W5).mean
        if cpu >= min_cpu:
            found.append(measured("process_cpu_percent", round(cpu), window=W5, source="/proc"))
    return tuple(found)
