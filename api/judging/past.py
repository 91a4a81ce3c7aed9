"""A node as it was: judged once more from what is stored, with today's rules."""

from __future__ import annotations

from api.judging.judge import Judge
from api.judging.nodes import NodeState
from api.judging.together import FLEET_ID
from gpudiag.changes import OpenFinding, key_of
from gpudiag.examine import examine
from gpudiag.model import Checkup, Finding
from gpudiag.window import Window


def judged_then(judge: Judge, state: NodeState, window: Window, at: float) -> Checkup:
    """Its checkup at the moment `at`, by its window of then."""
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
    return checkup


def known_then(judge: Judge, state: NodeState, at: float) -> list[Finding]:
    """What was open on it then, whether or not it can be judged today."""
    return [entry.finding for entry in _open_at(judge, state.id, at)]


def _open_at(judge: Judge, node_id: int, at: float) -> list[OpenFinding]:
    """What was open then, as it was called then: whatever ended since was not over."""
    entries = judge.store.episodes.open_at(node_id, at)
    for entry in entries:
        if entry.finding.state in ("resolved", "gone"):
            entry.finding.state = "open"
    return entries
