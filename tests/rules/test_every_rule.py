"""Every rule × case × language: one runner for all of them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from gpudiag.examine import Ruleset, all_rules, finding_of
from gpudiag.explain import explain
from gpudiag.model import Checkup
from gpudiag.rule import Case, Fires, Rule
from gpudiag.verdict import NOT_ENOUGH
from gpudiag.window import NotMeasured
from gpudiag.words import LANGUAGES, words
from gpudiag.words.pages import page_of, placeholders

RULES = all_rules()
PAIRS = [(rule, case) for rule in RULES for case in importlib.import_module(f"{rule.module}.cases").CASES]
CASES = [pytest.param(rule, case, id=f"{rule.id}: {case.title}") for rule, case in PAIRS]
BUILT_IN = {"node", "gpu", "index", "pid", "dcgm_id"}
"""What a page may name of every finding."""
FIRING = [param for param, (_, case) in zip(CASES, PAIRS, strict=True) if case.expect == "fires"]


def outcome(rule: Rule, case: Case) -> tuple[str, list[Fires], Checkup]:
    """What the whole judge says: gates, thresholds and all, before other rules explain it away."""
    from gpudiag.examine import examine

    subject: Any = case.window()
    if rule.subject == "fleet":
        subject.judged_at = case.now if case.now is not None else subject.now
        window = next(iter(subject.windows.values()))
    else:
        window = subject
        window.judged_at = case.now if case.now is not None else window.time
    checkup = examine(window, Ruleset([]), now=window.judged_at)
    if rule.subject == "gpu":
        subject = next(gpu for gpu in window.gpus_in_order() if gpu.index == case.gpu)
        if rule not in Ruleset([rule]).for_gpu(subject):
            return "clear", [], checkup
    if rule.subject == "node" and rule not in Ruleset([rule]).for_node(window):
        return "clear", [], checkup
    try:
        fired = rule.judged(subject)
    except NotMeasured:
        return "unjudged", [], checkup
    checkup.findings = [
        finding_of(rule, fires, subject if rule.subject == "gpu" else None) for fires in fired
    ]
    return ("fires" if fired else "clear"), fired, checkup


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_rule_answers_its_case(rule: Rule, case: Case) -> None:
    answer, fired, _ = outcome(rule, case)

    assert case.expect == answer
    if fired:
        first = fired[0]
        assert case.severity in (None, first.severity or rule.severity)
        assert case.confidence in (None, first.confidence or rule.confidence)
        assert case.variant is None or case.variant == first.variant
        assert first.evidence, "a finding without evidence"


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_rule_has_a_firing_case_and_a_look_alike(rule: Rule) -> None:
    kinds = {case.expect for case in importlib.import_module(f"{rule.module}.cases").CASES}
    speaks = "unjudged" if rule.id == NOT_ENOUGH else "fires"  # a verdict that is no finding

    assert {speaks, "clear"} <= kinds


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("rule", "case"), FIRING)
def test_every_sentence_has_its_values(rule: Rule, case: Case, language: str) -> None:
    _, fired, checkup = outcome(rule, case)
    diagnosis = explain(checkup, language, Ruleset([rule]))  # type: ignore[arg-type]
    said = diagnosis.findings + [f for gpu in diagnosis.gpus for f in gpu["findings"]]
    page = page_of(rule.module, rule.id, language)
    variant = fired[0].variant
    texts = [
        page.headline(variant),
        *(page.section(s, variant) for s in ("seen", "means", "does_not_mean", "next")),
    ]
    known = {e.name for e in fired[0].evidence} | set(fired[0].words) | BUILT_IN
    asked = {name for text in texts for name, _ in placeholders(text)}

    assert said and said[0]["headline"]
    assert asked <= known, f"the page asks for {sorted(asked - known)}"
    assert "?" not in said[0]["headline"] and "{" not in said[0]["headline"]
    assert said[0]["next_steps"]


@pytest.mark.parametrize(("language", "watched"), [("en", "watched"), ("ko", "지켜보는 동안")])
@pytest.mark.parametrize(("rule", "case"), FIRING)
def test_what_was_pasted_was_not_watched(rule: Rule, case: Case, language: str, watched: str) -> None:
    _, _, checkup = outcome(rule, case)
    diagnosis = explain(checkup, language, Ruleset([rule]))  # type: ignore[arg-type]
    said = diagnosis.findings + [f for gpu in diagnosis.gpus for f in gpu["findings"]]
    pasted = checkup.snapshot.source == "pasted"

    assert not (pasted and any(watched in one["seen"] for one in said))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("rule", "case"), FIRING)
def test_no_step_asks_for_the_answer_that_it_stands_in(rule: Rule, case: Case, language: str) -> None:
    _, fired, checkup = outcome(rule, case)
    diagnosis = explain(checkup, language, Ruleset([rule]))  # type: ignore[arg-type]
    commands = [
        step.get("command") for gpu in diagnosis.gpus for f in gpu["findings"] for step in f["next_steps"]
    ]

    assert f"gpudiag why {checkup.node}:{fired[0].gpu}" not in commands


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_every_wording_belongs_to_a_case(rule: Rule, language: str) -> None:
    page = page_of(rule.module, rule.id, language)
    cases = importlib.import_module(f"{rule.module}.cases").CASES
    shown = {fires.variant for case in cases if case.expect == "fires" for fires in outcome(rule, case)[1]}
    worded = {variant for variant in page.headlines if variant} | {v for _, v in page.sections if v}

    assert worded <= shown, f"no case shows the wording {sorted(worded - shown)}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("rule", "case"), FIRING)
def test_evidence_is_named_in_words(rule: Rule, case: Case, language: str) -> None:
    _, fired, _ = outcome(rule, case)
    named = {**words(language).LABELS, **page_of(rule.module, rule.id, language).labels}  # type: ignore[arg-type]

    assert [e.name for fires in fired for e in fires.evidence if e.name not in named] == []
