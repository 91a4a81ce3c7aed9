"""What a rule says it lacks has words in both languages."""

from __future__ import annotations

import importlib

import pytest

from gpudiag.examine import Ruleset, all_rules, examine
from gpudiag.model import Unjudged
from gpudiag.rule import Case, Rule
from gpudiag.words import LANGUAGES, words

UNJUDGED = [
    pytest.param(rule, case, id=f"{rule.id}: {case.title}")
    for rule in all_rules()
    if rule.subject != "fleet"
    for case in importlib.import_module(f"{rule.module}.cases").CASES
    if case.expect == "unjudged"
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("rule", "case"), UNJUDGED)
def test_what_is_missing_has_words(rule: Rule, case: Case, language: str) -> None:
    entries: list[Unjudged] = examine(case.window(), Ruleset([rule]), now=case.now).unjudged  # type: ignore[arg-type]
    known = words(language)
    missing = {name for entry in entries for name in entry.missing if not name.startswith("engine")}

    assert missing <= known.MISSING.keys() | known.LABELS.keys()
