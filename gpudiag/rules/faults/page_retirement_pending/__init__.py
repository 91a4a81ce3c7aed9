"""An older GPU waits for a reboot or reset to retire bad pages of memory."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.rules.faults.episodes import since, xids
from gpudiag.window import NotMeasured, Window

MARKED = frozenset({63})


@rule(severity="warning", rank=MEMORY_ERROR, given=("fault",), confidence="proven")
def page_retirement_pending(node: Window) -> Iterator[Fires]:
    """Pages wait for retirement (the driver's flag, or Xid 63 in the words of older GPUs)."""
    read = False
    for gpu in node.gpus.values():
        reading = gpu.reading
        read = read or reading.retired_pages_pending is not None or reading.row_remap_pending is not None
        if reading.retired_pages_pending:
            pages = reading.retired_pages_double_bit
            counted = () if pages is None else (measured("retired_pages_double_bit", pages),)
            yield Fires((measured("retired_pages_pending", True), *counted), gpu=gpu.index,
                        words={"device": f"GPU {gpu.index}", "card": str(gpu.index)})  # fmt: skip
    try:
        told = [e for e in xids(node, MARKED) if "etirement" in e.text or "etired" in e.text]
    except NotMeasured as absent:
        if read:
            return
        raise NotMeasured("retired_pages_pending", *absent.missing, reason=absent.reason) from None
    known = {g.index for g in node.gpus.values() if g.reading.retired_pages_pending is not None}
    for episode in told:
        if episode.gpu not in known:
            yield Fires(episode.evidence(), confidence="likely", variant="logged", gpu=episode.gpu,
                        key=episode.bus, since=since(node, episode), words=episode.words())  # fmt: skip
