"""Two serving engines share one GPU, and their reservations may not fit together."""

from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.window import GpuWindow, ProcessWindow
from gpudiag.workloads import POOLING_ENGINES


@rule(severity="warning", rank=MEMORY, given=("holding", "shared", "engine"))
def two_engines_one_gpu(
    gpu: GpuWindow, *, max_total_share: float = 1.0, safe_total_share: float = 0.95
) -> Fires | None:
    """Two engines share this GPU."""
    if gpu.reading.mig_mode or len(gpu.processes) < 2:
        return None
    engines = [engine for engine in gpu.engines if engine.reading.engine in POOLING_ENGINES]
    if len(engines) >= 2:
        shares = [engine.reading.gpu_memory_utilization for engine in engines]
        names = ", ".join(engine.reading.name for engine in engines)
        if None in shares:
            return _seen(gpu, names)
        wanted = sum(share or 0.0 for share in shares)
        if wanted <= safe_total_share:
            return None
        over = wanted > max_total_share
        evidence = calculated("reserved_share", round(wanted, 2), of=1.0, source="engine metrics")
        return Fires(
            (evidence,), severity="warning" if over else "info", confidence="proven", words={"engines": names}
        )
    if engines:
        return None
    servers = [p for p in gpu.processes if _is_engine(p)]
    if len(servers) >= 2 and not _one_family(servers):
        return _seen(gpu, ", ".join(f"{p.reading.name} (pid {p.reading.pid})" for p in servers[:3]))
    return None


def _seen(gpu: GpuWindow, names: str) -> Fires:
    held = sum(process.memory_on(gpu.index) or 0 for process in gpu.processes)
    evidence = measured("process_memory_bytes", held, of=gpu.reading.memory_total_bytes)
    return Fires(
        (evidence,), severity="info", confidence="possible", variant="shares-unseen", words={"engines": names}
    )


def _is_engine(process: ProcessWindow) -> bool:
    """It holds memory here as an engine; a server without memory of its own does not count."""
    memory = sum(use.memory_used_bytes or 0 for use in process.reading.gpus or ())
    return process.workload.engine in POOLING_ENGINES and memory >= 1 << 30


def _one_family(processes: list[ProcessWindow]) -> bool:
    """Parent and child, or children of one parent: one engine in several processes."""
    pids = {process.reading.pid for process in processes}
    parents = [process.reading.parent_pid for process in processes]
    if None in parents:
        return False
    return len(set(parents) - pids) <= 1
