"""The processor on the GPU that runs its firmware (GSP) does not answer the driver."""

from collections.abc import Iterator

from gpudiag.rule import DEVICE, Fires, rule
from gpudiag.rules.faults.episodes import Episode, episodes, since, told
from gpudiag.window import Window
from gpudiag.xid import FIRMWARE


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=("nvml-slow",),
)
def gsp_timeout(node: Window) -> Iterator[Fires]:
    """The GPU's firmware processor timed out (Xid 119, 120, or a driver line that says so)."""
    failed_to_start = {episode.bus for episode in episodes(node) if episode.kind == "init_failed"}
    cards: set[str] = set()
    for episode in told(node, FIRMWARE, "gsp"):
        if episode.number is None and (
            episode.bus in cards | failed_to_start or (failed_to_start and not episode.bus)
        ):
            continue  # the same in other words, or a card that never started
        cards.add(episode.bus)
        yield _of(node, episode)


def _of(node: Window, episode: Episode) -> Fires:
    return Fires(
        episode.evidence(),
        confidence=None if episode.number else "likely",
        variant=None if episode.number else "line",
        gpu=episode.gpu,
        key=episode.bus,
        since=since(node, episode),
        words={**episode.words(), "process": ", ".join(episode.processes[:3]) or "?"},
    )
