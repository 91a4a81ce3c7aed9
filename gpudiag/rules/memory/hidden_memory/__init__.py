"""Memory is in use that no visible process accounts for."""

from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.rules.holders import GIB, may_hold, named_bytes, require_all_processes
from gpudiag.rules.sight import confidence, seen_seconds
from gpudiag.window import W5, GpuWindow, NotMeasured


@rule(severity="warning", rank=MEMORY, given=("holding",), explains=("memory-held-idle",))
def hidden_memory(
    gpu: GpuWindow, *, min_hidden_bytes: int = GIB, min_hidden_share: float = 0.05
) -> Fires | None:
    """Memory is in use that no visible process accounts for."""
    reading = gpu.reading
    if reading.mig_mode or reading.mig_devices or reading.error or not gpu.present:
        return None
    total = gpu.now("memory_total_bytes")
    least = max(min_hidden_bytes, min_hidden_share * total)
    used = gpu.now("memory_used_bytes")
    if used <= least:
        return None
    if reading.virtualization in ("vgpu", "host_vgpu"):
        raise NotMeasured("processes", reason="not_supported")  # guests keep a reserve of their own
    visible = named_bytes(gpu)
    hidden = used - visible
    if hidden <= least:
        return None
    require_all_processes(gpu)
    if gpu.over("memory_used_bytes", W5).min - visible <= least:
        return None
    span = seen_seconds(gpu)
    desktop = any(workload.kind == "desktop" for workload in gpu.workloads)
    return Fires(
        (
            calculated("hidden_bytes", hidden, of=total, window=span, source="NVML"),
            measured("memory_used_bytes", used, window=span),
            calculated("visible_bytes", visible, source="NVML"),
        ),
        severity="info" if desktop and used <= total / 4 else None,  # its windows are not all listed
        confidence=confidence(gpu),
        words={"processes": str(len(gpu.processes)), **may_hold(gpu)},
    )
