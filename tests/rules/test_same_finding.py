"""GPUs that show the same are told together in an answer, and one that differs is never among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from api.web.told import together, verdicts_of
from bot.answers.asking import Asking
from bot.answers.diagnosis import lay_out
from bot.examples import ExampleApi
from bot.markdown import terminal
from bot.request import Target
from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.plaintext import diagnosis_text
from gpudiag.rules.situations import GIB, Situation


def lowered(limits: dict[int, float]) -> dict[str, Any]:
    """The diagnosis of eight GPUs of which some have a lowered power limit, in watts."""
    s = Situation(gpus=8)
    s.all_gpus(power_limit_default_watts=700.0, power_limit_watts=700.0, memory_used_bytes=GIB)
    for gpu, watts in limits.items():
        s.gpu(gpu).shows(power_limit_watts=watts)
    found: dict[str, Any] = msgspec.to_builtins(explain(examine(s.passes(minutes=6).window), "en"))
    return {**found, "source": "agent"}


ALL_ALIKE = dict.fromkeys(range(8), 300.0)
ONE_DIFFERS = {**dict.fromkeys(range(7), 300.0), 7: 500.0}


def spoken(found: dict[str, Any]) -> str:
    return terminal(lay_out(found, Target("node-3"), Asking(ExampleApi()), live=False), width=200)


def plain(found: dict[str, Any]) -> str:
    return diagnosis_text(found, "en", width=200)


SURFACES = pytest.mark.parametrize("said", [plain, spoken])


@SURFACES
def test_eight_gpus_that_show_the_same_are_told_once(said: Callable[[dict[str, Any]], str]) -> None:
    text = said(lowered(ALL_ALIKE))

    assert "GPU 0-7 may draw only 300 W instead of 700 W" in text
    assert 1 == text.count("may draw only")
    assert "The commands are those for GPU 0." in text


@SURFACES
def test_a_gpu_that_differs_is_told_beside_those_that_are_alike(
    said: Callable[[dict[str, Any]], str],
) -> None:
    text = said(lowered(ONE_DIFFERS))

    assert "GPU 0-6 may draw only 300 W instead of 700 W" in text
    assert "GPU 7 may draw only 500 W instead of 700 W" in text


@SURFACES
def test_an_answer_about_one_gpu_names_no_other(said: Callable[[dict[str, Any]], str]) -> None:
    text = said(lowered({2: 300.0}))

    assert "GPU 2 may draw only 300 W" in text
    assert "The commands are those" not in text


def test_the_json_keeps_a_finding_for_each_gpu() -> None:
    found = lowered(ALL_ALIKE)

    assert [["power-limit-lowered", "gpu-free"]] * 8 == [
        [finding["rule"] for finding in gpu["findings"]] for gpu in found["gpus"]
    ]


@SURFACES
def test_the_same_words_with_other_evidence_are_not_the_same(said: Callable[[dict[str, Any]], str]) -> None:
    found = lowered(ALL_ALIKE)
    finding = found["gpus"][3]["findings"][0]
    finding["evidence"][0]["text"] = "power limit in force: 299 W / 700 W"
    text = said(found)

    assert "GPU 0-2, 4-7 may draw only 300 W" in text
    assert "GPU 3 may draw only 300 W" in text


def seen(gpu: int, load: str, severity: str = "warning") -> dict[str, Any]:
    evidence = [{"name": "load", "text": f"load: {load}"}, {"name": "limit", "text": "limit: 9"}]
    return {
        "rule": "hot", "severity": severity, "gpu": gpu, "headline": f"GPU {gpu} is hot",
        "seen": f"GPU {gpu} was hot at {load}.", "evidence": evidence, "next_steps": [],
    }  # fmt: skip


def test_on_the_page_each_row_says_of_which_gpus_it_is_where_they_differ() -> None:
    (group,) = together([seen(0, "3"), seen(1, "3"), seen(2, "5")])

    assert "GPU 0-2 are hot" == group["headline"]
    assert ["GPU 0-1: load: 3", "GPU 2: load: 5", "limit: 9"] == [row["text"] for row in group["evidence"]]
    assert "" == group["seen"]  # it is about one of them alone


def test_on_the_page_gpus_that_are_alike_share_the_sentence() -> None:
    (group,) = together([seen(0, "3"), seen(1, "3"), seen(5, "3")])

    assert "GPU 0 was hot at 3." == group["seen"]
    assert "GPU 1, 5" == group["same_of"]
    assert ["load: 3", "limit: 9"] == [row["text"] for row in group["evidence"]]


def test_on_the_page_another_sentence_or_severity_stands_alone() -> None:
    other = {**seen(2, "3"), "headline": "GPU 2 is very hot"}
    found = together([seen(0, "3"), seen(1, "3", "critical"), other])

    assert ["GPU 1 is hot", "GPU 0 is hot", "GPU 2 is very hot"] == [group["headline"] for group in found]


def test_every_gpu_of_the_node_is_under_its_verdict() -> None:
    groups = verdicts_of(lowered(ONE_DIFFERS)["gpus"])

    assert [[0, 1, 2, 3, 4, 5, 6], [7]] == [[gpu["index"] for gpu in group["shown"]] for group in groups]
