"""An Xid of the links between GPUs."""

from collections.abc import Iterator

from gpudiag.model import Severity
from gpudiag.rule import MEMORY_ERROR, Fires, rule
from gpudiag.rules.faults.episodes import Episode, just_booted, since, xids
from gpudiag.window import Window
from gpudiag.xid import NVLINK


@rule(severity="critical", rank=MEMORY_ERROR, given=("fault",), confidence="proven", latched=True)
def xid_nvlink(node: Window) -> Iterator[Fires]:
    """The driver logged a fault of an NVLink (Xid 74, 144 to 150), or names one as a cause."""
    by_card: dict[str, list[Episode]] = {}
    for episode in xids(node, NVLINK):
        by_card.setdefault(episode.bus, []).append(episode)
    for bus, found in by_card.items():
        worst = max(found, key=lambda episode: (not episode.named_only, bool(episode.fatal), -episode.first))
        severity = _severity(node, worst)
        yield Fires(
            worst.evidence(),
            severity=severity,
            confidence="likely" if worst.named_only else None,
            variant="named" if worst.named_only else "starting" if severity == "info" else None,
            gpu=worst.gpu,
            key=bus,
            since=since(node, worst),
            words=worst.words(),
        )


def _severity(node: Window, episode: Episode) -> Severity:
    if just_booted(node, episode.first):
        return "info"
    return "warning" if episode.fatal is False else "critical"
