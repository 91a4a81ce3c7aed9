"""Why a rule did, or did not, fire: its gates, its thresholds, and what it could not see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudiag.examine import Ruleset, judge
from gpudiag.gates import is_open
from gpudiag.rule import Rule
from gpudiag.runbook import about, thresholds
from gpudiag.window import NotMeasured, Window
from gpudiag.words import Language, units, words


def account_of(
    rule: Rule, window: Window, rules: Ruleset | None = None, language: Language = "en"
) -> Iterator[str]:
    """One paragraph for each subject: fires with which evidence, is clear, or cannot be judged.

    What fires and is still not told is said with the finding of `rules` that accounts for it.
    """
    say = words(language).WHY_NOT
    known = ", ".join(f"{name} = {value}" for name, value in thresholds(rule, language).items())
    yield f"{rule.id}: {about(rule, language)}"
    yield "  " + say["thresholds"].format(values=known or say["none"])
    window.judged_at = window.judged_at or window.time
    if rule.subject == "fleet":
        yield "  " + say["fleet"]
        return
    if rule.subject == "node":
        yield from _outcome(rule, window, window.node, language)
    elif not window.gpus_in_order():
        yield "  " + say["no-gpu"].format(node=window.node)
    for gpu in window.gpus_in_order() if rule.subject == "gpu" else ():
        closed = [name for name in rule.given if not is_open(name, gpu)]
        name = f"GPU {gpu.index}"
        if closed:
            yield f"  {name}: " + say["not-asked"].format(gates=", ".join(closed))
        else:
            yield from _outcome(rule, gpu, name, language)
    yield from _accounted_for(rule, window, rules, language)


def _accounted_for(rule: Rule, window: Window, rules: Ruleset | None, language: Language) -> Iterator[str]:
    """Findings that explain the rule away, and where."""
    findings = judge(window, rules, window.judged_at).findings
    told = {finding.gpu for finding in findings if finding.rule == rule.id}
    for finding in findings:
        if rule.id in finding.explains and finding.gpu not in told:
            name = window.node if finding.gpu is None else f"GPU {finding.gpu}"
            yield f"  {name}: " + words(language).WHY_NOT["accounted"].format(rule=finding.rule)


def _outcome(rule: Rule, subject: Any, name: str, language: Language) -> Iterator[str]:
    say = words(language).WHY_NOT
    try:
        fired = rule.judged(subject)
    except NotMeasured as absent:
        reason = f" ({absent.reason})" if absent.reason else ""
        wait = say["wait"].format(seconds=f"{absent.wait_seconds:.0f}") if absent.wait_seconds else ""
        yield f"  {name}: " + say["missing"].format(names=", ".join(absent.missing)) + reason + wait
        return
    if not fired:
        yield f"  {name}: " + say["clear"]
    for fires in fired:
        seen = ", ".join(
            f"{item.name} = {units.show(item.name, item.value, language)}" for item in fires.evidence
        )
        yield f"  {name}: " + say["fires"].format(severity=fires.severity or rule.severity, seen=seen)
