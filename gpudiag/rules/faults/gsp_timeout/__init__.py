"""The processor on the GPU that runs its firmware (GSP) does not answer the driver."""

from collections.abc import Iterator

from gpudiag.rule import DEVICE, Fires, rule
from gpudiag.rules.faults.episodes import Episode, of_kind, since, xids
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
    numbered = xids(node, FIRMWARE)
    cards = {episode.bus for episode in numbered}
    failed_to_start = {episode.bus for episode in of_kind(node, "init_failed")}
    for episode in numbered:
        yield _of(node, episode)
    for episode in of_kind(node, "gsp"):
        if episode.bus not in cards | failed_to_start and not (failed_to_start and not episode.bus):
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
