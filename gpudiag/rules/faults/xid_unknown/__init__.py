"""An Xid that no rule speaks of: the raw line is shown, and nothing is guessed."""

from collections.abc import Iterator

from gpudiag.rule import MEMORY, Fires, rule
from gpudiag.rules.faults.episodes import SHOWN_SECONDS, Episode, episodes, require_log, since
from gpudiag.window import Window
from gpudiag.xid import catalogue, has_a_rule


@rule(severity="info", rank=MEMORY, given=("fault",), confidence="proven", clear_seconds=0.0)
def xid_unknown(node: Window) -> Iterator[Fires]:
    """The driver logged an Xid that is not in the catalogue, or of which no more is known than its name."""
    known = has_a_rule()
    recent = -1.0 if node.pasted else node.time - SHOWN_SECONDS
    unknown = False
    for episode in episodes(node):
        if episode.kind == "xid" and episode.number not in known and episode.last >= recent:
            unknown = True
            yield _of(node, episode)
    if not unknown:
        require_log(node)


def _of(node: Window, episode: Episode) -> Fires:
    listed = catalogue().get(episode.number or 0)
    action = "/".join(part for part in (listed.immediate, listed.later) if part) if listed else ""
    return Fires(
        episode.evidence(),
        variant="listed" if listed else None,
        gpu=episode.gpu,
        key=episode.key,
        since=since(node, episode),
        words={**episode.words(), "action": action or "—"},
    )
