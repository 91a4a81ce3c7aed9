"""A row could not be replaced, or spares run out."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.rules.faults.episodes import since, xids
from gpudiag.window import W7D, GpuWindow, NotMeasured, Window

FAILED = frozenset({64})
ROWS = "remapped_rows_uncorrectable"


@rule(
    severity="critical",
    rank=MEMORY_ERROR,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=("row-remap-pending", "retired-pages-limit"),
)
def row_remap_failed(node: Window, *, max_rows: int = 512) -> Iterator[Fires]:
    """A remap failed (now, or once), or the card ran through its spare rows."""
    missing: NotMeasured | None = None
    told = set()
    try:
        for episode in xids(node, FAILED):
            told.add(episode.gpu)
            yield Fires(episode.evidence(), variant="logged", gpu=episode.gpu, key=episode.bus,
                        since=since(node, episode), words=episode.words())  # fmt: skip
    except NotMeasured as absent:
        missing = absent.with_traceback(None)
    read = False
    for gpu in node.gpus.values():
        if gpu.reading.row_remap_failed is None and gpu.reading.remapped_rows_uncorrectable is None:
            continue
        read = True
        fires = _of(gpu, max_rows) if gpu.index not in told else None
        if fires is not None:
            yield fires
    if missing is not None and not read:
        raise NotMeasured("row_remap_failed", *missing.missing, reason=missing.reason)


def _of(gpu: GpuWindow, max_rows: int) -> Fires | None:
    reading = gpu.reading
    rows, empty = reading.remapped_rows_uncorrectable, reading.row_remap_banks_none
    words = {"device": f"GPU {gpu.index}", "card": str(gpu.index)}
    counted = () if rows is None else (measured(ROWS, rows),)
    if reading.row_remap_failed:
        evidence = (measured("row_remap_failed", True), *counted)
        if _errors_now(gpu):
            return Fires(evidence, gpu=gpu.index, words=words)
        return Fires(evidence, severity="warning", variant="historical", gpu=gpu.index, words=words)
    if rows is not None and rows >= max_rows:
        return Fires(counted, severity="warning", variant="many", gpu=gpu.index, words=words)
    if empty:
        evidence = (measured("banks_without_spare_rows", empty), *counted)
        return Fires(evidence, severity="warning", variant="no-spares", gpu=gpu.index, words=words)
    return None


def _errors_now(gpu: GpuWindow) -> bool:
    """Whether errors of this week make the old flag a new one."""
    for name in (ROWS, "ecc_uncorrected_volatile"):
        try:
            if gpu.rise(name, W7D) > 0:
                return True
        except NotMeasured:
            continue
    return False
