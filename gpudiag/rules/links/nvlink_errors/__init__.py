"""Error counters of the NVLinks keep rising."""

from gpudiag.rule import MEMORY_ERROR, Fires, calculated, measured, rule
from gpudiag.window import W5, W30, GpuWindow, NotMeasured

SLOT_SECONDS = 300.0


@rule(severity="warning", rank=MEMORY_ERROR, maturity="experimental", given=("linked",))
def nvlink_errors(gpu: GpuWindow, *, min_slots: int = 3, min_crc_per_second: float = 100.0) -> Fires | None:
    """Links recovered or replayed in several five-minute slots, or CRC errors come fast."""
    if not gpu.reading.nvlinks:
        return None
    if gpu.node.pasted:
        return _counted(gpu)
    known = False
    for name in ("nvlink_recovery_errors", "nvlink_replay_errors"):
        if getattr(gpu.reading, name) is None:
            continue
        known = True
        rises = gpu.rises(name, W30)
        slots = {int(at // SLOT_SECONDS) for at, _ in rises}
        if len(slots) >= min_slots:
            total = int(sum(amount for _, amount in rises))
            return Fires((measured("link_errors", total, window=W30),
                          calculated("slots_with_errors", len(slots), of=6)))  # fmt: skip
    try:
        per_second = gpu.rise("nvlink_crc_errors", W5) / W5
    except NotMeasured:
        if known:
            return None
        raise
    if per_second < min_crc_per_second:
        return None
    return Fires((calculated("crc_errors_per_second", per_second, window=W5),), variant="crc")


def _counted(gpu: GpuWindow) -> Fires | None:
    """What the counters of one pasted sample hold: it may be old."""
    reading = gpu.reading
    counts = [reading.nvlink_recovery_errors, reading.nvlink_replay_errors]
    if counts == [None, None]:
        gpu.now("nvlink_recovery_errors")
    total = sum(count or 0 for count in counts)
    if not total:
        return None
    return Fires((measured("link_errors", total),), severity="info", confidence="proven", variant="counted")
