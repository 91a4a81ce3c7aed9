"""The auxiliary power cable of a card is not connected."""

from collections.abc import Iterator

from gpudiag.rule import DEVICE, Fires, rule
from gpudiag.rules.faults.episodes import since, told
from gpudiag.window import Window
from gpudiag.xid import POWER_CABLE


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=("gpu-init-failed",),
)
def power_connector_missing(node: Window) -> Iterator[Fires]:
    """The driver says that a card's power cable is missing (Xid 54, or a line in words)."""
    cards = set()
    for episode in told(node, POWER_CABLE, "power_cable"):
        if episode.bus in cards:
            continue
        cards.add(episode.bus)
        yield Fires(
            episode.evidence(),
            gpu=episode.gpu,
            key=episode.bus,
            since=since(node, episode),
            words=episode.words(),
        )
