"""Situations of finding-flapping and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.model import Finding, Severity
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation


def _fleet(*minutes_ago: float, what: str = "opened", gpus: int = 1, severity: Severity = "warning") -> Fleet:
    window = Situation(node="node-2").passes(minutes=1).window
    changes = [
        (
            window.time - 60 * minutes,
            "node-2",
            Finding(rule="low-util-under-load", severity=severity, confidence="likely", gpu=i % gpus),
            what,
        )
        for i, minutes in enumerate(minutes_ago)
    ]
    return Fleet(windows={"node-2": window}, now=window.time, changes=changes)


CASES = [
    Case(
        "it opened three times within the hour", lambda: _fleet(55, 30, 4), "fires", gpu=None, severity="info"
    ),
    Case("once on each of three GPUs", lambda: _fleet(55, 30, 4, gpus=3), "clear"),
    Case("three times in a day", lambda: _fleet(900, 400, 4), "clear"),
    Case(
        "a GPU that works now and then: normal states come and go",
        lambda: _fleet(55, 30, 4, severity="ok"),
        "clear",
    ),
    Case("three endings are no openings", lambda: _fleet(55, 30, 4, what="resolved"), "clear"),
]
