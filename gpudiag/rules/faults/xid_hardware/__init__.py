"""An Xid that names a fault of the hardware or its firmware, with the action of NVIDIA's catalogue."""

from collections.abc import Iterator

from gpudiag.model import Severity
from gpudiag.rule import DEVICE, Fires, declared, rule
from gpudiag.rules.faults.episodes import Episode, just_booted, since, xids
from gpudiag.window import Window
from gpudiag.xid import HARDWARE, RESETTING, catalogue

LINK_TRAINING = frozenset({136, 143})  # a single one while the machine starts is nothing yet


@rule(severity="critical", rank=DEVICE, given=("fault",), confidence="proven", latched=True)
def xid_hardware(node: Window) -> Iterator[Fires]:
    """The driver logged an Xid that stands for a hardware or firmware fault."""
    for episode in xids(node, HARDWARE):
        yield _of(node, episode)


def _of(node: Window, episode: Episode) -> Fires:
    resets = episode.number in RESETTING
    known = catalogue().get(episode.number or 0)
    action = known.immediate if known and known.immediate else "CONTACT_SUPPORT"
    severity = _severity(node, episode, resets)
    return Fires(
        (*episode.evidence(), declared("catalogue_action", action, source="NVIDIA Xid catalogue")),
        severity=severity,
        variant="starting" if severity == "info" else None if resets else "watch",
        gpu=episode.gpu,
        key=episode.key,
        since=since(node, episode),
        words=episode.words(),
    )


def _severity(node: Window, episode: Episode, resets: bool) -> Severity:
    if episode.number in LINK_TRAINING:
        if just_booted(node, episode.first) and episode.count == 1:
            return "info"
        return "critical" if episode.number == 143 or episode.count > 1 else "warning"
    return "critical" if resets else "warning"
