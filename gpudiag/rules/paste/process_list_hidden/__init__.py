"""Memory or load is there, and the complete process list is empty: somebody is there who is not visible."""

from gpudiag.model import Evidence, Severity
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.sight import holds_nothing
from gpudiag.window import GpuWindow

MIB = 1 << 20


@rule(
    severity="info",
    rank=STATE,
    confidence="likely",
    maturity="experimental",
    given=("pasted",),
    explains=("memory-held-idle",),
)
def process_list_hidden(
    gpu: GpuWindow,
    *,
    min_used_bytes: int = 300 * MIB,
    min_utilization_percent: float = 2.0,
    full_share: float = 0.90,
) -> Fires | None:
    """Memory or load is there, but its process cannot be seen from here."""
    reading, snapshot = gpu.reading, gpu.node.latest
    paste = snapshot.paste if snapshot else None
    if (
        paste is None
        or reading.error
        or holds_nothing(gpu)
        or reading.mig_mode
        or reading.virtualization in ("vgpu", "host_vgpu")
    ):
        return None
    container = "container" in (paste.hints or ())
    if not (paste.process_list == "empty" or (container and paste.process_list in ("none", "listed"))):
        return None
    if any(process.workload.kind != "desktop" for process in gpu.processes):
        return None
    used, load = reading.memory_used_bytes, reading.utilization_percent
    held = used is not None and used >= min_used_bytes
    works = load is not None and load > min_utilization_percent
    if not (held or works):
        return None
    seen: list[Evidence] = []
    severity: Severity = "info"
    if used is not None:
        seen.append(measured("memory_used_bytes", used, of=reading.memory_total_bytes, source="pasted text"))
        if reading.memory_total_bytes and used >= full_share * reading.memory_total_bytes:
            severity = "warning"
    if load is not None:
        seen.append(measured("utilization_percent", load, source="pasted text"))
    return Fires(tuple(seen), severity=severity, variant="container" if container else None)
