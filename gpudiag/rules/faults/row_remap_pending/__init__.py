"""A bad row of memory will be replaced by a spare one at the next reset."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.rules.faults.episodes import Episode, since, xids
from gpudiag.window import NotMeasured, Window

MARKED = frozenset({63})


@rule(severity="warning", rank=MEMORY_ERROR, given=("fault",), confidence="proven")
def row_remap_pending(node: Window) -> Iterator[Fires]:
    """A row remap waits for a reset (the driver's flag, or Xid 63)."""
    known = {g.index: g.reading.row_remap_pending for g in node.gpus.values()}
    for gpu in node.gpus.values():
        if gpu.reading.row_remap_pending:
            evidence = [measured("row_remap_pending", True)]
            rows = gpu.reading.remapped_rows_uncorrectable
            if rows is not None:
                evidence.append(measured("remapped_rows_uncorrectable", rows))
            words = {"device": f"GPU {gpu.index}", "card": str(gpu.index)}
            yield Fires(tuple(evidence), gpu=gpu.index, words=words)
    told = _told(node, any(flag is not None for flag in known.values()))
    for episode in told:
        if episode.gpu is None or known.get(episode.gpu) is None:
            yield Fires(episode.evidence(), confidence="likely", variant="logged", gpu=episode.gpu,
                        key=episode.bus, since=since(node, episode), words=episode.words())  # fmt: skip


def _told(node: Window, flag_is_read: bool) -> list[Episode]:
    """Rows that the log marked; where the flag is read, the flag decides."""
    try:
        return [e for e in xids(node, MARKED) if "age" not in e.text or "etirement" not in e.text]
    except NotMeasured as absent:
        if flag_is_read:
            return []
        raise NotMeasured("row_remap_pending", *absent.missing, reason=absent.reason) from None
