"""The same sentence about several GPUs is told once, and names each GPU once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpudiag.examine import all_rules
from gpudiag.words.gpus import names_itself, of_several, told_once
from gpudiag.words.pages import fill, page_of


def test_gpus_that_share_a_sentence_share_a_line() -> None:
    low = [seen("util low", gpu) for gpu in (0, 1, 2, 5)]

    assert [("GPU 0-2, 5", "util low")] == told(*low)


def test_a_sentence_that_names_its_gpu_names_them_all_instead() -> None:
    stuck = [seen(f"GPU {gpu} looks busy, and GPU 5 differs", gpu) for gpu in (0, 1, 7)]

    assert [("", "GPU 0-1, 7 look busy, and GPU 5 differs")] == told(*stuck)


@pytest.mark.parametrize(
    ("alone", "several"),
    [
        ("GPU 1 looks busy and does nothing: it may hang", "GPU 1 look busy and do nothing: they may hang"),
        ("GPU 1 is lost: the driver cannot reach it", "GPU 1 are lost: the driver cannot reach them"),
        ("GPU 1 is at full load, and no reason is given", "GPU 1 are at full load, and no reason is given"),
        ("GPU 1 of pod/it-is-1 runs at 900 MHz", "GPU 1 of pod/it-is-1 run at 900 MHz"),
        ("GPU 1: its InfoROM is corrupted", "GPU 1: its InfoROM is corrupted"),
        ("GPU 1 장치의 팬이 멈춰 있습니다", "GPU 1 장치의 팬이 멈춰 있습니다"),
    ],
)
def test_verbs_and_pronouns_agree_with_several_gpus(alone: str, several: str) -> None:
    assert several == of_several(alone, 1)


def test_no_rules_headline_keeps_its_singular_when_it_is_told_of_several_gpus() -> None:
    """What may stay is what is said of something else: a reason, a driver, the GPU suspected."""
    pages = [page_of(rule.module, rule.id, "en") for rule in all_rules()]
    headlines = [
        fill(headline, lambda name, part: "GPU 1" if name in ("gpu", "device") else "7")
        for page in pages
        for headline in page.headlines.values()
    ]
    told = [of_several(headline, 1) for headline in headlines if headline.startswith("GPU 1 ")]

    singular = {" ".join(found) for said in told for found in SINGULAR.findall(said)}
    assert {"reason is", "7 is", "driver is", "firmware does", "much, rests"} == singular


SINGULAR = re.compile(r"(\S+) (is|has|does|was|its?|looks|works|runs|draws|needs|rests|fails|shows)\b")


def test_what_differs_in_more_than_the_gpu_stays_apart() -> None:
    held = [seen("held by python (pid 7)", 0), seen("held by python (pid 8)", 1)]

    assert [("GPU 0", "held by python (pid 7)"), ("GPU 1", "held by python (pid 8)")] == told(*held)


def test_what_is_alike_in_words_alone_stays_apart() -> None:
    hot = [seen("hot", 0, "warning"), seen("hot", 1, "critical")]

    assert [("GPU 0", "hot"), ("GPU 1", "hot")] == told(*hot)


def test_the_node_and_the_only_gpu_need_no_name() -> None:
    assert [("", "agent silent")] == told(seen("agent silent", None))
    assert [("", "hot")] == told(seen("hot", 0), several=False)


def test_gpu_1_is_not_named_in_gpu_10() -> None:
    assert names_itself("GPU 1 is lost", 1)
    assert not names_itself("GPU 10 is lost", 1)
    assert not names_itself("GPU 1 is lost", None)


def seen(headline: str, gpu: int | None, severity: str = "warning") -> dict[str, Any]:
    return {"headline": headline, "gpu": gpu, "severity": severity}


def told(*items: dict[str, Any], several: bool = True) -> list[tuple[str, str]]:
    groups = told_once(items, lambda item: item["severity"], several)
    return [(group["where"], group["headline"]) for group in groups]
