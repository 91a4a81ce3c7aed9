"""A fatal fault of an NVSwitch (SXid). SXid numbers are no Xids."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY_ERROR, Fires, rule
from gpudiag.rules.faults.episodes import Episode, episodes, of_kind, since
from gpudiag.window import Window

AFTER_A_LOST_GPU_SECONDS = 60.0


@rule(severity="critical", rank=MEMORY_ERROR, given=("fault",), confidence="proven", latched=True)
def sxid_nvswitch(node: Window) -> Iterator[Fires]:
    """An NVSwitch logged a fatal SXid that is not the echo of a lost GPU."""
    fatal = [episode for episode in of_kind(node, "sxid") if episode.fatal]
    if not fatal:
        return
    lost = [e for e in episodes(node) if e.kind == "fallen_off_bus" or e.number == 79]
    own = [episode for episode in fatal if not _echoes(episode, lost)]
    by_number: dict[int | None, list[Episode]] = {}
    for episode in own:
        by_number.setdefault(episode.number, []).append(episode)
    for number, found in by_number.items():
        switches = ", ".join(sorted({episode.bus_id or "?" for episode in found}))
        yield Fires(
            found[0].evidence(),
            key=str(number),
            since=since(node, found[0]),
            words={"switches": switches, "switch_count": len(found)},
        )


def _echoes(episode: Episode, lost: list[Episode]) -> bool:
    return any(-1.0 <= episode.first - gone.first <= AFTER_A_LOST_GPU_SECONDS for gone in lost)
