"""A notebook that does nothing keeps memory in its framework's cache."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.holders import GIB, flat, whose, working
from gpudiag.rules.sight import confidence, seen_seconds
from gpudiag.window import W5, W30, GpuWindow, NotMeasured, ProcessWindow


@rule(
    severity="info",
    rank=STATE,
    given=("idle", "holding", "job"),
    explains=("memory-held-idle",),
)
def notebook_cached_memory(
    gpu: GpuWindow,
    *,
    min_bytes: int = GIB,
    min_quiet_share: float = 0.99,
    max_cpu_percent: float = 5.0,
) -> Fires | None:
    """An idle notebook holds memory."""
    notebooks = [process for process in working(gpu) if _is_notebook(process)]
    if not notebooks:
        return None
    process = notebooks[0]
    memory = process.memory_on(gpu.index)
    if memory is None:
        raise NotMeasured("process_memory_bytes")
    span = W30 if gpu.covers(W30) else W5
    quiet = gpu.share("quiet", span)
    if memory < min_bytes or quiet < min_quiet_share or not flat(gpu):
        return None
    if process.reading.cpu_percent is not None and process.over("cpu_percent", W5).mean >= max_cpu_percent:
        return None  # a cell runs on the CPU
    seen = seen_seconds(gpu, span)
    return Fires(
        (
            measured("process_memory_bytes", memory, of=gpu.reading.memory_total_bytes, window=seen),
            measured("quiet_ratio", quiet, window=seen),
        ),
        confidence=confidence(gpu, W30),
        words=whose(process),
        key=f"pid:{process.reading.pid}:{process.reading.started_at or 0:.0f}",
    )


def _is_notebook(process: ProcessWindow) -> bool:
    parents = " ".join(process.reading.parents or (process.reading.parent_name or "",))
    return process.workload.kind == "notebook" or "jupyter" in parents or "ipykernel" in parents
