"""An Xid that is most often the program's fault: restart it, look into it, do not drain the node."""

from collections.abc import Iterator

from gpudiag.model import Severity
from gpudiag.rule import MEMORY, Fires, calculated, rule
from gpudiag.rules.faults.episodes import LOG, SHOWN_SECONDS, Episode, since, xids
from gpudiag.window import W24H, Window
from gpudiag.xid import of_application

CLEANUP = 45


@rule(severity="info", rank=MEMORY, given=("fault",), clear_seconds=0.0)
def xid_application(node: Window, *, min_programs: int = 3) -> Iterator[Fires]:
    """A program made an illegal access, or the driver cleaned up after one."""
    by_card: dict[str, list[Episode]] = {}
    for episode in xids(node, of_application(), W24H):
        by_card.setdefault(episode.bus, []).append(episode)
    for bus, found in by_card.items():
        faults = [episode for episode in found if episode.number != CLEANUP]
        programs = set().union(*(episode.pids for episode in faults)) if faults else set()
        suspect = len(programs) >= min_programs
        if not suspect and not node.pasted and max(e.last for e in found) < node.time - SHOWN_SECONDS:
            continue
        yield _of(node, bus, faults or found, len(programs), suspect)


def _of(node: Window, bus: str, found: list[Episode], programs: int, suspect: bool) -> Fires:
    latest = max(found, key=lambda episode: episode.last)
    severity: Severity = "warning" if suspect else "info"
    variant = "many-programs" if suspect else "cleanup" if latest.number == CLEANUP else None
    evidence = latest.evidence()
    if suspect:
        evidence = (*evidence, calculated("program_count", programs, window=W24H, source=LOG))
    process = next((name for e in (latest, *found) for name in e.processes), None)
    return Fires(
        evidence,
        severity=severity,
        confidence="possible" if suspect else None,
        variant=variant,
        gpu=latest.gpu,
        key=bus,
        since=since(node, latest),
        words={**latest.words(), "process": process or "?"},
    )
