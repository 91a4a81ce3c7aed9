"""The same sentence about several GPUs is told once, and names each GPU once."""

from __future__ import annotations

from typing import Any

from gpudiag.words.gpus import names_itself, told_once


def test_gpus_that_share_a_sentence_share_a_line() -> None:
    low = [seen("util low", gpu) for gpu in (0, 1, 2, 5)]

    assert [("GPU 0-2, 5", "util low")] == told(*low)


def test_a_sentence_that_names_its_gpu_names_them_all_instead() -> None:
    stuck = [seen(f"GPU {gpu} looks busy, and GPU 5 differs", gpu) for gpu in (0, 1, 7)]

    assert [("", "GPU 0-1, 7 looks busy, and GPU 5 differs")] == told(*stuck)


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
