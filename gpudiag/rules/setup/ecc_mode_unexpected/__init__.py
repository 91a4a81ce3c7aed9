"""ECC is off among cards that have it on, or a change waits for a reboot."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="info", rank=HINT, confidence="proven", given=("adjusted",))
def ecc_mode_unexpected(gpu: GpuWindow) -> Fires | None:
    """The ECC mode will change, or differs from all the siblings'."""
    now, pending = gpu.reading.ecc_mode, gpu.reading.ecc_mode_pending
    if now is None:
        if gpu.node.pasted or gpu.node.gap(f"gpu:{gpu.index}", "ecc_mode") in (None, "not_supported"):
            return None  # boards without ECC
        gpu.now("ecc_mode")
    if pending is not None and pending != now:
        return Fires(
            (measured("ecc_mode", bool(now)), measured("ecc_mode_pending", pending)),
            variant="pending",
            words={"kept": "1" if now else "0"},
        )
    if now or not _all_others_on(gpu):
        return None
    return Fires((measured("ecc_mode", False),))


def _all_others_on(gpu: GpuWindow) -> bool:
    others = [
        g.reading.ecc_mode
        for g in gpu.node.gpus.values()
        if g is not gpu and g.reading.name == gpu.reading.name
    ]
    return len(others) >= 2 and all(others)
