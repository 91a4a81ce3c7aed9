"""Host memory is so short that processes on the GPU wait for it."""

from gpudiag.rule import MEMORY, Fires, measured, rule
from gpudiag.window import W5, NotMeasured, Window


@rule(severity="warning", rank=MEMORY)
def host_memory_pressure(
    node: Window, *, min_pressure_percent: float = 5.0, min_swap_pages: float = 10.0
) -> Fires | None:
    """Host RAM pressure is stalling the GPU process."""
    if node.pasted or not any(process.reading.gpus for process in node.processes.values()):
        return None
    host = node.latest.host if node.latest else None
    if host is None or (host.memory_pressure_full is None and host.swap_in_pages_per_second is None):
        raise NotMeasured("host.memory_pressure_full")
    pressed = (host.memory_pressure_full or 0.0) > min_pressure_percent
    swaps = (host.swap_in_pages_per_second or 0.0) > min_swap_pages
    if not pressed and not swaps:
        return None
    node.require(W5)
    evidence = []
    if pressed:
        mean = node.host.over("memory_pressure_full", W5).mean
        pressed = mean > min_pressure_percent
        evidence.append(measured("memory_pressure_percent", round(mean), window=W5, source="PSI"))
    if swaps:
        rate = node.host.over("swap_in_pages_per_second", W5).mean
        swaps = rate > min_swap_pages
        evidence.append(measured("swap_in_per_second", round(rate), window=W5, source="/proc/vmstat"))
    if not pressed and not swaps:
        return None
    if host.memory_available_bytes is not None:
        total = host.memory_total_bytes
        evidence.append(
            measured("available_bytes", host.memory_available_bytes, of=total, source="/proc/meminfo")
        )
    return Fires(tuple(evidence), variant=None if pressed else "swapping")
