"""A node as it was: judged once more from what is stored, with today's rules."""

from __future__ import annotations

from api.judge import Judge
from api.nodes import NodeState
from gpudiag.changes import key_of
from gpudiag.examine import examine, precedence
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
    known = {key_of(f): f for f in (e.finding for e in judge.store.episodes.open_at(state.id, at))}
    for finding in checkup.findings:
        before = known.pop(key_of(finding), None)
        if before is not None:
            finding.id, finding.since, finding.state = before.id, before.since, before.state
    for finding in known.values():
        finding.state = "open" if finding.state in ("resolved", "gone") else finding.state
        checkup.findings.append(finding)
    checkup.findings.sort(key=lambda finding: precedence(finding, judge.rules))
    return window, checkup
