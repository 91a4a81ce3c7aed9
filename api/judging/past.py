"""A node as it was: judged once more from what is stored, with today's rules."""

from __future__ import annotations

from api.judging.judge import Judge
from api.judging.nodes import NodeState
from api.judging.together import FLEET_ID
from gpudiag.changes import OpenFinding, key_of
from gpudiag.examine import examine
from gpudiag.model import Checkup
from gpudiag.window import Window


def judged_then(
    judge: Judge, state: NodeState, at: float, span: float | None = None
) -> tuple[Window, Checkup] | None:
    """Its window and checkup at the moment `at`; None when nothing is stored of it.

    With a `span` by nothing but the snapshots of the last `span` seconds before. End the window after use.
    """
    window = judge.windows.of_the_past(state, at, span)
    if window is None:
        return None
    checkup = examine(window, judge.rules, at)
    known = {key_of(entry.finding): entry for entry in _open_at(judge, state.id, at)}
    for finding in checkup.findings:
        before = known.get(key_of(finding))
        if before is not None:
            same = before.finding
            finding.id, finding.since, finding.state = same.id, same.since, same.state
    several = [entry.finding for entry in _open_at(judge, FLEET_ID, at)]
    about = [finding for finding in several if judge.together.host_of(finding) == state.name]
    checkup.findings = judge.shown(known, checkup, window, about)
    return window, checkup


def _open_at(judge: Judge, node_id: int, at: float) -> list[OpenFinding]:
    """What was open then, as it was called then: whatever ended since was not over."""
    entries = judge.store.episodes.open_at(node_id, at)
    for entry in entries:
        if entry.finding.state in ("resolved", "gone"):
            entry.finding.state = "open"
    return entries
