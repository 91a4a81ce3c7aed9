"""Why a rule did, or did not, fire: its gates, its thresholds, and what it could not see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudiag.examine import Ruleset, judge
from gpudiag.gates import is_open
from gpudiag.rule import Rule
from gpudiag.window import NotMeasured, Window


def account_of(rule: Rule, window: Window, rules: Ruleset | None = None) -> Iterator[str]:
    """One paragraph for each subject: fires with which evidence, is clear, or cannot be judged.

    What fires and is still not told is said with the finding of `rules` that accounts for it.
    """
    thresholds = ", ".join(f"{name} = {value!r}" for name, value in rule.thresholds.items())
    yield f"{rule.id}: {rule.summary}"
    yield f"  thresholds in force: {thresholds or 'none'}"
    window.judged_at = window.judged_at or window.time
    if rule.subject == "fleet":
        yield "  it looks at several nodes: ask the server"
        return
    if rule.subject == "node":
        yield from _outcome(rule, window, window.node)
        yield from _accounted_for(rule, window, rules)
        return
    for gpu in window.gpus_in_order():
        closed = [name for name in rule.given if not is_open(name, gpu)]
        name = f"GPU {gpu.index}"
        if closed:
            yield f"  {name}: clear; not asked, since this is measured not to hold: {', '.join(closed)}"
        else:
            yield from _outcome(rule, gpu, name)
    yield from _accounted_for(rule, window, rules)


def _accounted_for(rule: Rule, window: Window, rules: Ruleset | None) -> Iterator[str]:
    """Findings that explain the rule away, and where."""
    findings = judge(window, rules, window.judged_at).findings
    told = {finding.gpu for finding in findings if finding.rule == rule.id}
    for finding in findings:
        if rule.id in finding.explains and finding.gpu not in told:
            name = window.node if finding.gpu is None else f"GPU {finding.gpu}"
            yield f"  {name}: not told by itself, since {finding.rule} accounts for it"


def _outcome(rule: Rule, subject: Any, name: str) -> Iterator[str]:
    try:
        fired = rule.judged(subject)
    except NotMeasured as absent:
        reason = f" ({absent.reason})" if absent.reason else ""
        wait = f"; wait {absent.wait_seconds:.0f} s" if absent.wait_seconds else ""
        yield f"  {name}: cannot judge, missing {', '.join(absent.missing)}{reason}{wait}"
        return
    if not fired:
        yield f"  {name}: clear; everything it needs was measured, and its condition does not hold"
    for fires in fired:
        seen = ", ".join(f"{item.name} = {item.value}" for item in fires.evidence)
        yield f"  {name}: fires as {fires.severity or rule.severity}; {seen}"
