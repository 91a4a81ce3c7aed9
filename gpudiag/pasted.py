"""Pasted text → Checkup: where it shows several machines, each is judged and the worst one is told.

Cards of the same cluster look alike, so a fault of one machine is never mixed with the values of another: the
answer is of one machine, and names the others that look broken or could not be reached.
"""

from __future__ import annotations

from gpudiag.examine import Ruleset, examine
from gpudiag.model import SEVERITY_ORDER, Checkup
from gpudiag.rule import TEXT
from gpudiag.smi import Reading, read_machines, window_of_reading
from gpudiag.verdict import Verdict, verdict_of_node

BROKEN = ("critical", "warning")


def judge(text: str | bytes, rules: Ruleset, now: float | None = None) -> Checkup:
    """What the rules say of a pasted text. Raises what `gpudiag.smi.read` raises."""
    machines, silent = read_machines(text, now)
    if len(machines) == 1 and not silent:
        return _checkup(machines[0][1], rules)
    judged = [(name, reading, verdict_of_node(_checkup(reading, rules), rules)) for name, reading in machines]
    # Of equals the one that `read` gives stays the last.
    judged.sort(key=lambda each: _weight(each[2], rules))
    *others, (name, worst, _) = judged
    paste = worst.paste
    paste.machine, paste.machines = name, len(machines) + len(silent)
    broken = [other for other, _, verdict in reversed(others) if verdict.severity in BROKEN]
    paste.broken_machines = list(dict.fromkeys([*broken, *silent])) or None
    return _checkup(worst, rules)


def _checkup(reading: Reading, rules: Ruleset) -> Checkup:
    window = window_of_reading(reading)
    checkup = examine(window, rules)
    window.end()
    return checkup


def _weight(verdict: Verdict, rules: Ruleset) -> tuple[int, int]:
    """How bad it is, and then how much the rule explains: a fault of the card before one of its use."""
    rule = rules.by_id.get(verdict.rule)
    return SEVERITY_ORDER.index(verdict.severity), -(rule.rank if rule else TEXT)
