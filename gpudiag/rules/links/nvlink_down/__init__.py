"""NVLinks that were up, or that the siblings have, are down."""

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.window import W7D, GpuWindow

HELD_SECONDS = 180.0
BOOT_GRACE = 600.0


@rule(severity="critical", rank=MEMORY_ERROR, given=("linked",))
def nvlink_down(gpu: GpuWindow, *, min_siblings: int = 3) -> Fires | None:
    """Fewer NVLinks are up than before, or than on all the other GPUs of the node."""
    if gpu.reading.nvlinks is None:
        if gpu.node.gap(f"gpu:{gpu.index}", "nvlinks") in (None, "not_supported"):
            return None
        gpu.now("nvlinks")
    now = gpu.reading.nvlinks_active
    if now is None or gpu.reading.mig_mode:
        return None
    before = round(gpu.over("nvlinks_active", W7D).max)
    usual = max(before, _siblings(gpu, now, min_siblings))
    if now >= usual:
        return None
    held = gpu.over("nvlinks_active", HELD_SECONDS)
    if held.max > now and not gpu.node.pasted:
        return None  # it is going down just now: wait until it stays so
    starting = _starting(gpu)
    return Fires(
        (measured("nvlinks_active", now, of=usual),),
        severity="info" if starting else "critical",
        confidence="possible" if starting else "proven" if before > now else "likely",
        variant="starting" if starting else None,
        words={
            "down": ", ".join(str(link.link) for link in gpu.reading.nvlinks or () if link.active is False)
        },
    )


def _siblings(gpu: GpuWindow, now: int, least: int) -> int:
    """How many links all the other GPUs have, where they agree; bridged pairs do not."""
    counts = [g.reading.nvlinks_active for g in gpu.node.gpus.values() if g is not gpu and g.present]
    known = {count for count in counts if count is not None}
    return known.pop() if len(counts) >= least and len(known) == 1 and None not in counts else now


def _starting(gpu: GpuWindow) -> bool:
    host = gpu.node.latest.host if gpu.node.latest else None
    return bool(host and host.booted_at and gpu.node.time - host.booted_at < BOOT_GRACE)
