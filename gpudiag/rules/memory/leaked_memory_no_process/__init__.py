"""Memory is in use and no process on the host has the GPU open."""

from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.rules.holders import GIB, require_all_processes
from gpudiag.window import W15, GpuWindow, NotMeasured


@rule(
    severity="critical",
    rank=MEMORY,
    given=("holding",),
    explains=("hidden-memory", "memory-held-idle"),
)
def leaked_memory_no_process(
    gpu: GpuWindow, *, min_hidden_bytes: int = GIB, min_hidden_share: float = 0.05
) -> Fires | None:
    """Memory is held but no process owns it any more."""
    reading, snapshot = gpu.reading, gpu.node.latest
    if gpu.processes or reading.error or not gpu.present or reading.mig_mode or reading.mig_devices:
        return None
    if snapshot is None or gpu.node.pasted or reading.virtualization in ("vgpu", "host_vgpu"):
        return None
    used, total = gpu.now("memory_used_bytes"), gpu.now("memory_total_bytes")
    least = max(min_hidden_bytes, min_hidden_share * total)
    if used <= least:
        return None
    require_all_processes(gpu)
    agent = snapshot.agent
    if agent is None or agent.uid != 0 or (snapshot.host is not None and snapshot.host.in_container):
        raise NotMeasured("processes", reason="no_permission")
    gpu.require(W15)
    held = gpu.over("memory_used_bytes", W15)
    if held.min <= least:
        return None
    evidence = [
        measured("memory_used_bytes", used, of=total, window=W15),
        calculated("open_handles", 0, source="/proc"),
    ]
    stuck = gpu.over("utilization_percent", W15).mean if reading.utilization_percent is not None else 0.0
    if stuck >= 95.0:
        evidence.append(measured("utilization_percent", round(stuck), window=W15))
    return Fires(tuple(evidence))
