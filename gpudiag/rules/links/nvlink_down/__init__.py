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
        return _in_one_sample(gpu, now) if gpu.node.pasted else None
    held = gpu.over("nvlinks_active", HELD_SECONDS)
    if held.max > now and not gpu.node.pasted:
        return None  # it is going down just now: wait until it stays so
    starting = _starting(gpu)
    return Fires(
        (measured("nvlinks_active", now, of=usual),),
        severity="info" if starting else "critical",
        confidence="possible" if starting else "proven" if before > now else "likely",
        variant="starting" if starting else None,
        words={"down": _down(gpu)},
    )


def _in_one_sample(gpu: GpuWindow, now: int) -> Fires | None:
    """Links that are down in a text that shows no other time and too few other GPUs to compare with.

    Bridges between cards leave links free, and MIG switches all of them off; on a board with an NVSwitch
    every link has its other end.
    """
    links = gpu.reading.nvlinks or []
    if now == len(links):
        return None
    soldered = any(mark in (gpu.reading.name or "") for mark in ("SXM", "HBM"))
    return Fires(
        (measured("nvlinks_active", now, of=len(links)),),
        severity="warning" if soldered else "info",
        confidence="possible",
        variant="partly" if now else "none",
        words={"down": _down(gpu)},
    )


def _down(gpu: GpuWindow) -> str:
    return ", ".join(str(link.link) for link in gpu.reading.nvlinks or () if link.active is False)


def _siblings(gpu: GpuWindow, now: int, least: int) -> int:
    """How many links all the other GPUs have, where they agree; bridged pairs do not."""
    counts = [g.reading.nvlinks_active for g in gpu.node.gpus.values() if g is not gpu and g.present]
    known = {count for count in counts if count is not None}
    return known.pop() if len(counts) >= least and len(known) == 1 and None not in counts else now


def _starting(gpu: GpuWindow) -> bool:
    host = gpu.node.latest.host if gpu.node.latest else None
    return bool(host and host.booted_at and gpu.node.time - host.booted_at < BOOT_GRACE)
