"""What a rule says it lacks has words in both languages."""

from __future__ import annotations

import importlib
from typing import get_args

import pytest

from gpudiag.examine import Ruleset, all_rules, examine
from gpudiag.explain import explain
from gpudiag.model import (
    Checkup,
    Gap,
    GpuReading,
    MissingPart,
    NvmlReading,
    Observed,
    Reason,
    Snapshot,
    Unjudged,
)
from gpudiag.rule import Case, Rule
from gpudiag.rules.paste.paste_incomplete import VARIANTS
from gpudiag.window import Window
from gpudiag.words import LANGUAGES, Language, words

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


def test_gpus_that_the_agent_let_go_of_are_watched_again_by_a_command() -> None:
    window = Window("node-3")
    for taken_at in (1e9, 1e9 + 10.0):
        window.add(
            Snapshot(
                node="node-3", taken_at=taken_at, source="agent", nvml=NvmlReading(released=True),
                gpus=[GpuReading(index=0)], gaps=[Gap(subject="gpu:0", metric="*", reason="not_enabled")],
            )
        )  # fmt: skip

    said = explain(examine(window), "en")

    assert any(entry["enable"].endswith("gpudiag agent resume") for entry in said.gpus[0]["unjudged"])
    assert not any("engine" in entry["enable"] for entry in said.gpus[0]["unjudged"])


def verdict_without(*missing: str, language: Language = "en") -> str:
    """The headline where one rule could not judge for want of these, and no other says anything."""
    entries = [Unjudged(rule="thermal-hw-slowdown", missing=list(missing), gpu=0)] if missing else []
    snapshot = Snapshot(node="node-3", taken_at=1e9, gpus=[GpuReading(index=0)])
    checkup = Checkup(
        node="node-3",
        judged_at=1e9,
        observed=Observed(start=1e9, end=1e9),
        snapshot=snapshot,
        unjudged=entries,
    )
    return str(explain(checkup, language).gpus[0]["verdict"]["headline"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_bits_of_the_clocks_event_reasons_are_called_by_the_mask_that_has_them(language: Language) -> None:
    known = words(language).MISSING

    assert verdict_without("hw_thermal", language=language) == verdict_without(
        "clocks_event_reasons", language=language
    )
    assert known["clocks_event_reasons"] in verdict_without("hw_thermal", language=language)


def test_what_most_questions_turn_on_is_named_first_and_three_are_enough() -> None:
    said = verdict_without("fan_percent", "pstate", "power_watts", "utilization_percent")

    assert said == "cannot tell yet: GPU utilization, power draw, fan speed not visible"


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_that_decides_is_named_the_verdict_says_so(language: Language) -> None:
    assert verdict_without(language=language) == words(language).NOT_ENOUGH_BARE


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_why_a_value_is_not_there_has_words(language: Language) -> None:
    known = words(language)

    assert set(get_args(Reason)) - known.REASON.keys() == {"cut", "not_shown"}  # of pasted text alone
    assert {"cut", "not_shown"} <= known.ENABLE_BY_REASON.keys()


def test_every_part_that_a_pasted_text_may_lack_has_its_own_wording() -> None:
    assert set(get_args(MissingPart)) == {*VARIANTS, "other_machine", "other_list"}
