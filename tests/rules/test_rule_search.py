"""Rules are found by what a person remembers of them."""

from __future__ import annotations

import pytest

from gpudiag.examine import default_rules
from gpudiag.rule_search import search
from gpudiag.xid import BUS, FIRMWARE, MEMORY, NVLINK, catalogue

RULES = default_rules().rules


def found(asked: str) -> list[str]:
    return [rule.id for rule in search(RULES, asked)]


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ("kv-pool-reserved-idle", "kv-pool-reserved-idle"),
        ("KV Pool Reserved", "kv-pool-reserved-idle"),
        ("fell off the PCIe bus", "gpu-lost-bus"),
        ("버스에서 떨어졌습니다", "gpu-lost-bus"),
        ("예약된 풀", "kv-pool-reserved-idle"),
        ("riser", "gpu-lost-bus"),
    ],
)
def test_a_rule_is_found_by_its_id_its_headlines_and_the_words_of_its_page(asked: str, rule: str) -> None:
    assert rule in found(asked)


@pytest.mark.parametrize("asked", ["{n}", "xid {n}", "Xid{n}", "XID  {n}"])
@pytest.mark.parametrize(
    ("numbers", "rule"),
    [
        (BUS, "gpu-lost-bus"),
        (MEMORY - {171, 172}, "ecc-uncorrectable-new"),
        (NVLINK, "xid-nvlink"),
        (FIRMWARE, "gsp-timeout"),
    ],
)
def test_a_rule_is_found_by_the_number_of_an_xid(asked: str, numbers: frozenset[int], rule: str) -> None:
    assert [] == [n for n in numbers if rule not in found(asked.format(n=n))]


@pytest.mark.parametrize("number", sorted(catalogue()))
def test_every_xid_of_the_catalogue_leads_to_a_rule(number: int) -> None:
    assert found(f"xid {number}")


def test_an_xid_that_nobody_knows_leads_to_the_rule_about_those() -> None:
    assert found("xid 999") == ["xid-unknown"]
    assert found("999") == []


def test_a_number_is_found_whole_and_not_within_another() -> None:
    assert "gpu-lost-bus" in found("79")
    assert "gpu-lost-bus" not in found("7")


def test_every_word_has_to_be_there() -> None:
    both = found("nvlink errors")

    assert set(both) < set(found("nvlink"))
    assert set(both) <= set(found("errors"))
    assert found("nvlink zebra") == []


def test_rules_that_are_called_so_come_before_those_that_speak_of_it() -> None:
    ids = found("nvlink")

    assert ids.index("nvlink-down") < ids.index("stuck-job")


@pytest.mark.parametrize("asked", ["", "  "])
def test_without_a_word_all_are_found(asked: str) -> None:
    assert len(found(asked)) == len(RULES)


@pytest.mark.parametrize(
    "asked", ["xid " + "9" * 90, "²", "٧٩", "\\", "(", "[" * 100, "a" * 10_000, "{gpu}", "\0"]
)
def test_odd_questions_are_answered(asked: str) -> None:
    assert len(found(asked)) < len(RULES)
