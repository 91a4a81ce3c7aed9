"""The window through which other devices reach GPU memory is nearly full."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="info", rank=HINT, maturity="experimental", confidence="possible", given=("process",))
def bar1_nearly_full(
    gpu: GpuWindow, *, min_used_share: float = 0.95, large_bar_share: float = 0.90
) -> Fires | None:
    """The BAR1 window is nearly full."""
    used, total = gpu.reading.bar1_used_bytes, gpu.reading.bar1_total_bytes
    host = gpu.node.latest.host if gpu.node.latest else None
    if not used or not total or used < min_used_share * total:
        return None
    if host is None or "nvidia_peermem" not in (host.modules or ()):
        return None  # nobody registers memory through it
    memory = gpu.now("memory_total_bytes")
    if total >= large_bar_share * memory:
        return None  # a large BAR maps all of the memory by design
    return Fires((measured("bar1_used_bytes", used, of=total),))
