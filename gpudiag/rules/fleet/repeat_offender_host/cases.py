"""Situations of repeat-offender-host and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.model import Finding
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation


def _fleet(*hours_ago: float, rule: str = "xid-hardware", severity: str = "critical") -> Fleet:
    window = Situation(node="node-7").passes(minutes=1).window
    now = window.time
    finding = Finding(rule=rule, severity=severity, confidence="proven", gpu=1)  # type: ignore[arg-type]
    changes = [(now - 3600 * hours, "node-7", finding, "opened") for hours in hours_ago]
    return Fleet(windows={"node-7": window}, now=now, changes=changes)


CASES = [
    Case("three faults in five days", lambda: _fleet(120, 60, 2), "fires", gpu=None, severity="warning"),
    Case("three that opened together", lambda: _fleet(2.0, 1.9, 1.8), "clear"),
    Case("two faults only", lambda: _fleet(60, 2), "clear"),
    Case("three warnings", lambda: _fleet(120, 60, 2, severity="warning"), "clear"),
    Case("the agent was away", lambda: _fleet(120, 60, 2, rule="agent-stale"), "clear"),
    Case("a month ago", lambda: _fleet(900, 800, 700), "clear"),
]
