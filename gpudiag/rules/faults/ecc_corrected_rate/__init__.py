"""Corrected memory errors accumulate quickly: nothing is wrong yet, and it is worth a look."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.rules.faults.episodes import Episode, in_the_last_day, since, xids
from gpudiag.window import W24H, GpuWindow, NotMeasured, Window
from gpudiag.xid import CORRECTED


@rule(severity="info", rank=MEMORY_ERROR, given=("fault",), maturity="experimental")
def ecc_corrected_rate(node: Window, *, min_per_day: int = 1000) -> Iterator[Fires]:
    """Many corrected errors within a day, or the driver itself calls the rate high (Xid 92)."""
    missing: NotMeasured | None = None
    told = set()
    try:
        for episode in xids(node, CORRECTED):
            if in_the_last_day(node, episode):
                told.add(episode.gpu)
                yield _of_log(node, episode)
    except NotMeasured as absent:
        missing = absent.with_traceback(None)
    counted = False
    for gpu in node.gpus.values():
        risen = _risen(gpu)
        counted = counted or risen is not None
        if risen is not None and risen >= min_per_day and gpu.index not in told:
            yield Fires((measured("new_corrected_errors", int(risen), window=W24H),), gpu=gpu.index,
                        words={"device": f"GPU {gpu.index}", "card": str(gpu.index)})  # fmt: skip
    if missing is not None and not counted:
        raise missing


def _of_log(node: Window, episode: Episode) -> Fires:
    return Fires(
        episode.evidence(),
        severity="warning",
        confidence="proven",
        variant="driver",
        gpu=episode.gpu,
        key=episode.bus,
        since=since(node, episode),
        words=episode.words(),
    )


def _risen(gpu: GpuWindow) -> float | None:
    if gpu.reading.ecc_corrected_volatile is None:
        return None
    try:
        return gpu.rise("ecc_corrected_volatile", W24H)
    except NotMeasured:
        return None
