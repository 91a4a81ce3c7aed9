"""With MIG, utilization of the whole GPU is not reported: it is unknown, not zero."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, declared, measured, rule
from gpudiag.rules.engines import alive
from gpudiag.rules.holders import GIB, working
from gpudiag.window import GpuWindow


@rule(severity="ok", rank=STATE, confidence="proven", given=("mig",))
def mig_util_not_available(gpu: GpuWindow) -> Fires | None:
    """Utilization is not reported for MIG slices."""
    reading = gpu.reading
    if reading.utilization_percent is not None or reading.error or not gpu.present:
        return None
    slices = reading.mig_devices or []
    shown = (reading.temperature_celsius, reading.memory_used_bytes, *(s.memory_used_bytes for s in slices))
    if gpu.node.pasted and all(value is None for value in shown):
        return None  # a list of names: of its state nothing was seen
    evidence: list[Evidence] = [declared("mig_mode", True, source="NVML")]
    if slices:
        evidence.append(measured("slices", len(slices)))
    if reading.memory_used_bytes is not None:
        total = reading.memory_total_bytes
        evidence.append(measured("memory_used_bytes", reading.memory_used_bytes, of=total))
    return Fires(tuple(evidence), severity=None if _is_known(gpu) else "info")


def _is_known(gpu: GpuWindow, min_bytes: int = GIB) -> bool:
    """Whether nobody is on it, or only engines whose own numbers tell what they do."""
    owners = working(gpu)
    if owners:
        pids = {pid for engine in gpu.engines if alive(engine) for pid in engine.pids}
        return all(process.reading.pid in pids for process in owners)
    of_slices = [each.memory_used_bytes for each in gpu.reading.mig_devices or ()]
    held = [value for value in (gpu.reading.memory_used_bytes, *of_slices) if value is not None]
    return bool(held) and max(held) < min_bytes
