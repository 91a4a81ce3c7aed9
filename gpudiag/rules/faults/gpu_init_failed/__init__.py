"""The card is on the bus, but the driver cannot start it."""

from collections.abc import Iterator

from gpudiag.rule import DEVICE, Fires, rule
from gpudiag.rules.faults.episodes import Episode, of_kind, since
from gpudiag.window import Window, bus_key

FIRMWARE_WORDS = ("GFW", "gfw", "Cannot initialize GSP")
DRIVER_WORDS = ("requires use of the NVIDIA open", "is not supported by", "supported through the NVIDIA")


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    maturity="experimental",
    explains=("nvml-unavailable", "gpu-count-changed", "no-gpu-host", "gsp-timeout"),
)
def gpu_init_failed(node: Window) -> Iterator[Fires]:
    """The driver failed to initialise a card that it found on the bus."""
    failed = of_kind(node, "init_failed")
    if not failed:
        return
    running = {bus_key(g.reading.bus_id) for g in node.gpus.values() if g.present and g.reading.bus_id}
    variant = _variant(failed)
    named = [episode for episode in failed if episode.bus]
    if node.gpus and not named:
        return  # a line without an address, and cards that run: nothing says which one it was
    for episode in named or failed[:1]:
        if episode.bus not in running:
            yield _of(node, episode, variant)


def _variant(failed: list[Episode]) -> str | None:
    for variant, words in (("driver", DRIVER_WORDS), ("firmware", FIRMWARE_WORDS)):
        if any(word in episode.text for episode in failed for word in words):
            return variant
    return None


def _of(node: Window, episode: Episode, variant: str | None) -> Fires:
    return Fires(
        episode.evidence(),
        variant=variant,
        gpu=episode.gpu,
        key=episode.bus,
        since=since(node, episode),
        words=episode.words(),
    )
