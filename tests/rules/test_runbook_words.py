"""A runbook speaks one language: every title of a case that it shows stands in the page's own words."""

from __future__ import annotations

import importlib
import re

import pytest

from gpudiag.cli import main
from gpudiag.examine import all_rules
from gpudiag.rule import Rule
from gpudiag.runbook import markdown, runbook_of
from gpudiag.words import LANGUAGES, Language, words
from gpudiag.words.pages import page_of

RULES = all_rules()
NAMES = [rule.id for rule in RULES]
HANGUL = re.compile("[가-힣]")
WITHOUT_WORDS = {"Xid 54", "Xid 64"}
PARTICLES = re.compile(r"\}(?:은|는|이|가|을|를|와|과|로|으로)(?=[\s.,])")


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_every_title_that_a_korean_runbook_shows_is_korean(rule: Rule) -> None:
    runbook = runbook_of(rule, "ko")
    titles = [form.title for form in runbook.forms] + runbook.lookalikes
    english = [title for title in titles if not HANGUL.search(title) and title not in WITHOUT_WORDS]

    assert titles or rule.severity == "unknown"
    assert english == []


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_every_korean_title_belongs_to_a_case(rule: Rule) -> None:
    titles = {case.title for case in importlib.import_module(f"{rule.module}.cases").CASES}
    worded = page_of(rule.module, rule.id, "ko").cases.keys()

    assert worded - titles == set()


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_english_runbook_shows_no_korean(rule: Rule) -> None:
    assert HANGUL.search(markdown(rule, "en")) is None


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_no_korean_particle_is_glued_to_a_value(rule: Rule) -> None:
    assert PARTICLES.findall(page_of(rule.module, rule.id, "ko").markdown) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_family_says_what_it_is_about(language: Language) -> None:
    assert {rule.family for rule in RULES} == words(language).FAMILY.keys()


def test_the_list_of_rules_is_korean_where_korean_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules", "--lang", "ko"])
    listed = [line for line in capsys.readouterr().out.splitlines() if re.match(r"  [a-z]", line)]

    assert len(RULES) == len(listed)
    assert all(HANGUL.search(line) for line in listed)
