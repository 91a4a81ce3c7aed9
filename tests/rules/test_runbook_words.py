"""A runbook speaks one language: every title of a case that it shows stands in the page's own words."""

from __future__ import annotations

import importlib
import re
from collections import Counter

import pytest

from gpudiag.cli import main
from gpudiag.examine import all_rules
from gpudiag.rule import Rule
from gpudiag.runbook import about, markdown, runbook_of, thresholds
from gpudiag.words import LANGUAGES, Language, words
from gpudiag.words.pages import page_of
from gpudiag.words.units import exactly, number

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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_every_rule_says_in_a_line_what_it_is_about(rule: Rule, language: Language) -> None:
    """Lists show this line: it has no values to be filled in, and says more than the rule's name."""
    line = about(rule, language)

    assert re.search(r"[{}…\n]", line) is None
    assert re.search(r"다(\(.*\))?\.$" if language == "ko" else r"\.$", line)
    assert 10 < len(line) < 110
    assert bool(HANGUL.search(line)) == (language == "ko")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_rules_are_about_the_same(language: Language) -> None:
    told = Counter(about(rule, language) for rule in RULES)

    assert [line for line, count in told.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "value", "english", "korean"),
    [
        ("min_hidden_bytes", 1 << 30, "1 GiB", "1 GiB"),
        ("min_used_bytes", 314572800, "300 MiB", "300 MiB"),
        ("min_bytes", 1_000_001, "1,000,001 B", "1,000,001 B"),
        ("max_age_seconds", 1800.0, "30 min", "30분"),
        ("max_age_seconds", 90061.0, "90,061 s", "90,061초"),
        ("max_age_seconds", 2.5, "2.5 s", "2.5초"),
        ("min_counted_ratio", 0.017, "1.7 %", "1.7 %"),
        ("min_used_share", 0.925, "92.5 %", "92.5 %"),
        ("max_margin_celsius", 0, "0 °C", "0 °C"),
        ("min_read_rate", 50e6, "50 MB/s", "50 MB/s"),
        ("max_intervals", 2.5, "2.5", "2.5"),
    ],
)
def test_a_threshold_is_written_in_a_unit_that_people_read_and_is_not_rounded(
    name: str, value: float, english: str, korean: str
) -> None:
    assert (english, korean) == (exactly(name, value), exactly(name, value, "ko"))


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_no_runbook_shows_a_threshold_as_a_long_row_of_digits(rule: Rule) -> None:
    shown = thresholds(rule, "en")

    assert rule.thresholds.keys() == shown.keys()
    assert [value for value in shown.values() if re.search(r"[\d,]{6}", value)] == []
    assert all(f"- `{name}` = {value}" in markdown(rule, "en") for name, value in shown.items())


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


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_no_english_page_hedges_between_one_and_several(rule: Rule) -> None:
    assert re.findall(r"\w+\(s\)", page_of(rule.module, rule.id, "en").markdown) == []


def test_a_large_number_is_grouped_with_a_fraction_and_without() -> None:
    assert ("1,300", "1,256.7", "2.5") == (number(1300), number(1256.7), number(2.5))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_runbook_has_the_steps_of_every_wording(rule: Rule, language: Language) -> None:
    page, written = page_of(rule.module, rule.id, language), markdown(rule, language)
    lists = [page.steps(variant) for name, variant in page.sections if name == "next"]
    last = [steps[-1].text for steps in lists if "{" not in steps[-1].text]

    assert [text for text in last if text not in written] == []
    assert rule.severity == "unknown" or len(re.findall(r"^ *1\. ", written, re.MULTILINE)) >= len(lists)
