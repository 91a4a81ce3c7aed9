"""Pasted text → Checkup: where it shows several machines, each is judged and the worst one is told.

Cards of the same cluster look alike, so a fault of one machine is never mixed with the values of another: the
answer is of one machine, and names the others that look broken or could not be reached.
"""

from __future__ import annotations

from gpudiag.examine import Ruleset, examine
from gpudiag.model import SEVERITY_ORDER, Checkup, Snapshot
from gpudiag.rule import TEXT
from gpudiag.smi import Reading, read_machines, window_of_reading
from gpudiag.verdict import NOT_ENOUGH, Verdict, verdict_of_node

BROKEN = ("critical", "warning")


class RulesFail(Exception):
    """Our rules fail over what was read, by the error that is its cause; `snapshot` is the newest of that."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot.node)
        self.snapshot = snapshot


def judge(text: str | bytes, rules: Ruleset, now: float | None = None) -> Checkup:
    """What the rules say of a pasted text. Raises RulesFail, and what `gpudiag.smi.read` raises."""
    machines, silent = read_machines(text, now)
    if len(machines) == 1 and not silent:
        return _checkup(machines[0][1], rules)
    judged = [(name, reading, _verdict(reading, rules)) for name, reading in machines]
    # Of equals the one that `read` gives stays the last.
    judged.sort(key=lambda each: _weight(each[2], rules))
    *others, (name, worst, _) = judged
    paste = worst.paste
    paste.machine, paste.machines = name, len(machines) + len(silent)
    broken = [other for other, _, verdict in reversed(others) if verdict.severity in BROKEN]
    paste.broken_machines = list(dict.fromkeys([*broken, *silent])) or None
    return _checkup(worst, rules)


def _verdict(reading: Reading, rules: Ruleset) -> Verdict:
    """One machine's; unknown where our rules fail over it: the others are judged all the same."""
    try:
        return verdict_of_node(_checkup(reading, rules), rules)
    except RulesFail:
        return Verdict("unknown", NOT_ENOUGH)


def _checkup(reading: Reading, rules: Ruleset) -> Checkup:
    try:
        window = window_of_reading(reading)
        checkup = examine(window, rules)
    except Exception as error:
        raise RulesFail(reading.snapshots[-1]) from error
    window.end()
    return checkup


def _weight(verdict: Verdict, rules: Ruleset) -> tuple[int, int]:
    """How bad it is, and then how much the rule explains: a fault of the card before one of its use."""
    rule = rules.by_id.get(verdict.rule)
    return SEVERITY_ORDER.index(verdict.severity), -(rule.rank if rule else TEXT)
