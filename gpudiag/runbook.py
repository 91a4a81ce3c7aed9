"""A rule's page with the numbers of worked examples: the first case in which it fires, of each variant.

The one home of runbooks: the web page, the Markdown, the command line and the written reference show them.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpudiag.examine import default_rules, examine, finding_of
from gpudiag.explain import explain
from gpudiag.fleet import Fleet
from gpudiag.rule import Case, Rule
from gpudiag.window import NotMeasured
from gpudiag.words import Language, units, words
from gpudiag.words.columns import WIDTH, wrap
from gpudiag.words.pages import Page, fill, flowing, page_of

NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Form:
    """One wording of a rule: its finding in the worked example `title`."""

    variant: str | None
    title: str
    finding: dict[str, Any]
    own_steps: bool = False


@dataclass(frozen=True, slots=True)
class Runbook:
    """Everything that a rule's page shows."""

    rule: Rule
    headline: str
    forms: list[Form]
    sources: tuple[str, ...]
    page: dict[str, Any]  # the words without numbers, for a rule that no single node's case shows
    lookalikes: list[str] = field(default_factory=list)
    thresholds: dict[str, str] = field(default_factory=dict)


def runbook_of(rule: Rule, language: Language) -> Runbook:
    """The runbook of one rule. Its examples are judged with the rules as they come, without settings."""
    page = page_of(rule.module, rule.id, language)
    cases = _cases(rule)
    forms = [_form(rule.id, rule.module, variant, language) for variant in page.headlines]
    lookalikes = [page.title(case.title) for case in cases if case.expect == "clear"]
    return Runbook(
        rule,
        in_general(page.headline(None)),
        [form for form in forms if form],
        page.sources,
        _said(page),
        lookalikes,
        thresholds(rule, language),
    )


def about(rule: Rule, language: Language) -> str:
    """What a rule is about, in a line for lists: by its page, or by its docstring, which is English."""
    return page_of(rule.module, rule.id, language).summary or rule.summary


def thresholds(rule: Rule, language: Language) -> dict[str, str]:
    """The thresholds in force as people read them."""
    return {name: units.exactly(name, value, language) for name, value in rule.thresholds.items()}


def markdown(rule: Rule, language: Language) -> str:
    """The runbook as Markdown, with the numbers of its first example in the text."""
    runbook, word = runbook_of(rule, language), words(language)
    label = word.LABEL
    first = runbook.forms[0] if runbook.forms else None
    said = first.finding if first else runbook.page
    headline = first.finding["headline"] if first else runbook.headline
    mark = f" · {label['experimental']}" if rule.maturity == "experimental" else ""
    severity, confidence = said.get("severity", rule.severity), said.get("confidence", rule.confidence)
    lines = [
        f"# {headline}",
        "",
        f"`{rule.id}` · {word.SEVERITY[severity]} · {word.CONFIDENCE[confidence]}{mark}",
        "",
    ]
    if first:
        lines += [f"{label['example']}: {first.title}.", ""]
    lines += [f"## {label['seen']}", "", said["seen"], ""]
    lines += [*(f"- {word.KIND[item['kind']]}: {item['text']}" for item in said["evidence"]), ""]
    for name in ("means", "does_not_mean"):
        lines += [f"## {label[name]}", "", said[name], ""]
    lines += [f"## {label['next']}", ""]
    lines += _steps(said["next_steps"])
    others = runbook.forms[1:]
    if others:
        lines += ["", f"## {label['other_forms']}", ""]
    for form in others:
        lines.append(f"- **{form.finding['headline']}** ({form.title}): {_first(form.finding['seen'])}")
        if form.own_steps:
            lines += _steps(form.finding["next_steps"], "  ")
    if runbook.lookalikes:
        lines += ["", f"## {label['lookalikes']}", "", *(f"- {title}" for title in runbook.lookalikes)]
    if runbook.thresholds:
        lines += ["", f"## {label['thresholds']}", ""]
        lines += [f"- `{name}` = {value}" for name, value in runbook.thresholds.items()]
    lines += ["", f"## {label['sources']}", "", *(f"- {source}" for source in runbook.sources), ""]
    return "\n".join(lines)


def page_text(rule: Rule, language: Language, width: int = WIDTH) -> str:
    """The runbook to read in a terminal: its Markdown, in lines of at most `width` columns."""
    lines: list[str] = []
    for line in markdown(rule, language).replace("**", "").splitlines():
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        hang = "  " if text.startswith("- ") else "   " if text[:1].isdigit() else ""
        whole = not text or text.startswith("`")  # a command is copied as it stands
        lines += [line] if whole else wrap(text, width - len(indent), hang, indent)
    return "\n".join(lines) + "\n"


def list_text(rules: Iterable[Rule], language: Language, width: int = WIDTH) -> str:
    """The rules to read in a terminal, by family and name, in lines of at most `width` columns."""
    ordered = sorted(rules, key=lambda rule: (rule.family, rule.id))
    families = itertools.groupby(ordered, key=lambda rule: rule.family)
    return "\n\n".join("\n".join(_family(name, of_it, language, width)) for name, of_it in families) + "\n"


def _family(family: str, members: Iterable[Rule], language: Language, width: int) -> Iterator[str]:
    """What the family is about, then of each rule its severity, what it is about, its thresholds in force."""
    word, indent = words(language), " " * 6
    yield from wrap(f"{family}: {word.FAMILY[family]}", width)
    for rule in members:
        mark = f", {word.LABEL['experimental']}" if rule.maturity == "experimental" else ""
        yield f"  {rule.id:<30} {word.SEVERITY[rule.severity]}{mark}"
        yield from wrap(about(rule, language), width - len(indent), indent=indent)
        values = (f"{name} = {value}" for name, value in thresholds(rule, language).items())
        joined = ", ".join(value.replace(" ", NO_BREAK) for value in values)
        for line in wrap(joined, width - len(indent), indent=indent) if joined else ():
            yield line.replace(NO_BREAK, " ")


def _steps(steps: list[dict[str, Any]], indent: str = "") -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"{indent}{number}. {step['text']}"
        if step["command"]:
            yield f"{indent}   `{step['command']}`"


def _first(text: str) -> str:
    """The first sentence of a text."""
    return text.split("\n")[0].split(". ")[0].rstrip(".") + "."


def _cases(rule: Rule) -> list[Case]:
    return list(importlib.import_module(f"{rule.module}.cases").CASES)


@lru_cache(maxsize=512)
def _form(rule_id: str, module: str, variant: str | None, language: Language) -> Form | None:
    """The first case that fires in this wording; the plain one takes any where it has none of its own."""
    cases: list[Case] = importlib.import_module(f"{module}.cases").CASES
    other = None
    for case in cases:
        fired = _fired(default_rules().by_id[rule_id], case, language) if case.expect == "fires" else None
        title = page_of(module, rule_id, language).title(case.title)
        if fired and fired[0] == variant:
            own_steps = ("next", variant) in page_of(module, rule_id, language).sections
            return Form(variant, title, fired[1], own_steps)
        if fired and other is None:
            other = Form(variant, title, fired[1])
    return other if variant is None else None


def _fired(rule: Rule, case: Case, language: Language) -> tuple[str | None, dict[str, Any]] | None:
    """The wording and the finding of a rule in a case, before other rules explain it away."""
    subject = case.window()
    if isinstance(subject, Fleet):
        subject.judged_at = subject.now if case.now is None else case.now
        window, now = next(iter(subject.windows.values())), subject.judged_at
    else:
        window, now = subject, subject.time if case.now is None else case.now
    checkup = examine(window, default_rules(), now)
    gpu = (
        next((g for g in window.gpus_in_order() if g.index == case.gpu), None)
        if rule.subject == "gpu"
        else None
    )
    try:
        outcomes = rule.judged(gpu or subject)
    except NotMeasured:
        return None
    checkup.findings = [finding_of(rule, outcome, gpu) for outcome in outcomes]
    diagnosis = explain(checkup, language)
    found = [*diagnosis.findings, *(f for entry in diagnosis.gpus for f in entry["findings"])]
    return next(((outcomes[0].variant, finding) for finding in found if finding["rule"] == rule.id), None)


def in_general(template: str) -> str:
    """A text of the page without a finding: the GPU is just a GPU, and each value an ellipsis."""
    return flowing(fill(template, lambda name, part: "GPU" if name in ("gpu", "device") else "…"))


def _said(page: Page) -> dict[str, Any]:
    return {
        "evidence": [],
        **{name: in_general(page.section(name, None)) for name in ("seen", "means", "does_not_mean")},
        "next_steps": [
            {"text": in_general(step.text), "command": in_general(step.command) if step.command else None}
            for step in page.steps(None)
        ],
    }
