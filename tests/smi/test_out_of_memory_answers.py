"""What is said to somebody who pastes CUDA out of memory: who held the memory, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import window_of
from gpudiag.words import Language
from tests.smi import writers
from tests.smi.oom_texts import (
    COMFY,
    GIB,
    JAX,
    LLAMA_CPP,
    NO_ROOM,
    NOT_FREE,
    TOO_LONG,
    TOO_LONG_BEFORE,
    Failure,
)
from tests.smi.tables import gpu, machine

FITS_NOT = Failure()
OTHERS = Failure(allocated=8 * GIB, process=9 * GIB, others={5120: 68 * GIB})
PIECES = Failure(allocated=58 * GIB, unallocated=18 * GIB)
UNNAMED = Failure(allocated=8 * GIB, process=9 * GIB)
CONTAINER = Failure(process=None, others={47694: 77.5 * GIB})
LARGER = Failure(asked=184 * GIB)
LENT = Failure(total=8 * GIB, free=0, allocated=14 * GIB, process=None)
CAUSES = {
    "it does not fit": (FITS_NOT.sentence(), "out of GPU memory, 2.0 GiB asked for and 1.2 GiB free"),
    "others hold it": (OTHERS.sentence(), "other processes hold 68.0 GiB: pid 5120 (68.0 GiB)"),
    "in pieces": (PIECES.sentence(), "18.0 GiB are reserved and unused: it may be fragmentation"),
    "nobody named": (UNNAMED.sentence(), "the text does not say who holds 68.9 GiB of it"),
    "the driver tells no size": (
        Failure(allocated=8 * GIB, process=9 * GIB, others={5120: None}).sentence(),
        "the text does not say who holds 68.9 GiB of it",
    ),
    "itself, by the host's pid": (CONTAINER.sentence(), "the program itself holds 77.5 GiB"),
    "larger than the GPU": (LARGER.sentence(), "one allocation of 184.0 GiB is more than the whole GPU has"),
    "lent by the host": (LENT.sentence(), "add up to more than the GPU has"),
    "its own limit": (
        Failure(free=30 * GIB, allocated=39 * GIB, allowed=40 * GIB).parenthesis(),
        "out of the memory that the program allows itself (40.0 GiB)",
    ),
    "enough was free": (
        Failure(asked=GIB // 4, free=13 * GIB, allocated=60 * GIB, process=66 * GIB).sentence(),
        "256 MiB were refused while 13.0 GiB were free",
    ),
    "the driver's own pool": (COMFY, "the program itself holds 9.2 GiB"),
    "JAX": (JAX, "JAX asked for 31.4 GiB and did not get it"),
    "llama.cpp": (LLAMA_CPP, "GPU 1: out of GPU memory, 8.0 GiB asked for; who holds"),
}
ENGINE = {
    "nothing left": (NO_ROOM, "nothing is left for its KV cache", "KV 캐시에 쓸 메모리가 남지"),
    "too long": (TOO_LONG, "one request of 131,072 tokens", "131,072 토큰 요청 하나도"),
    "too long, before": (TOO_LONG_BEFORE, "one request of 131,072 tokens", "131,072 토큰 요청 하나도"),
    "taken": (NOT_FREE, "3.2 GiB were free", "남은 메모리 3.2 GiB"),
}


def diagnosis(text: str, language: Language = "en") -> Diagnosis:
    return explain(examine(window_of(text)), language)


def finding(text: str, language: Language = "en") -> dict[str, Any]:
    return next(f for f in diagnosis(text, language).findings if f["rule"] == "out-of-memory")


def evidence(text: str) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in finding(text)["evidence"]}


def commands(text: str) -> list[str]:
    return [step["command"] for step in finding(text)["next_steps"] if step["command"]]


@pytest.mark.parametrize(("text", "headline"), CAUSES.values(), ids=CAUSES.keys())
def test_the_headline_says_what_was_lacking(text: str, headline: str) -> None:
    english, korean = diagnosis(text), diagnosis(text, "ko")

    assert ("warning", "out-of-memory") == (english.verdict["severity"], english.verdict["rule"])
    assert headline in english.verdict["headline"]
    assert korean.verdict["headline"] != english.verdict["headline"]
    assert "?" not in english.verdict["headline"] + korean.verdict["headline"]
    assert finding(text)["next_steps"] and finding(text, "ko")["next_steps"]


@pytest.mark.parametrize(("text", "english", "korean"), ENGINE.values(), ids=ENGINE.keys())
def test_an_engine_that_did_not_start_is_told_what_would_fit(text: str, english: str, korean: str) -> None:
    said, in_korean = diagnosis(text), diagnosis(text, "ko")

    assert ("warning", "kv-pool-too-small") == (said.verdict["severity"], said.verdict["rule"])
    assert english in said.verdict["headline"] and korean in in_korean.verdict["headline"]


def test_the_length_that_fits_is_in_the_command() -> None:
    (said,) = diagnosis(TOO_LONG).findings

    assert "vllm serve MODEL --max-model-len 34480" == said["next_steps"][0]["command"]


def test_a_part_stands_inside_its_whole_and_is_added_to_nothing() -> None:
    said = evidence(Failure(pools=GIB).sentence())
    inside = [("process_bytes", "free_bytes"), ("reserved_bytes", "process_bytes")]

    assert said["process_bytes"]["of"] == said["free_bytes"]["of"] == round(79.15 * GIB)
    assert said["reserved_bytes"]["of"] == said["process_bytes"]["value"]
    assert said["allocated_bytes"]["of"] == said["unallocated_bytes"]["of"] == said["reserved_bytes"]["value"]
    assert said["private_pool_bytes"]["of"] == said["allocated_bytes"]["value"]
    assert all(said[part]["value"] <= said[part]["of"] for part, _ in inside)


def test_what_the_text_tells_is_measured_and_what_follows_is_calculated() -> None:
    newer, older = evidence(OTHERS.sentence()), evidence(Failure().parenthesis())

    assert ("measured", "calculated") == (
        newer["unallocated_bytes"]["kind"],
        newer["reserved_bytes"]["kind"],
    )
    assert ("calculated", "measured") == (
        older["unallocated_bytes"]["kind"],
        older["reserved_bytes"]["kind"],
    )
    assert {"pasted text"} == {item["source"] for item in (*newer.values(), *older.values())}


def test_the_setting_against_fragmentation_is_offered_only_where_it_may_help() -> None:
    setting = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python …"

    assert setting in commands(PIECES.sentence())
    assert setting not in commands(FITS_NOT.sentence()) + commands(OTHERS.sentence())
    assert "possible" == finding(PIECES.sentence())["confidence"]


def test_who_holds_it_is_asked_for_by_pid_and_what_fits_is_calculated() -> None:
    assert "ps -o pid,user,lstart,cmd -p 5120" in commands(OTHERS.sentence())
    assert any(command.startswith("gpudiag kv ") for command in commands(FITS_NOT.sentence()))


def test_another_makers_tool_lists_its_processes() -> None:
    text = Failure(backend="HIP", allocated=0, unallocated=0, process=None).sentence()

    assert ["sudo rocm-smi --showpids"] == commands(text)


def test_several_ranks_are_told_apart() -> None:
    text = "\n".join(f"[rank{n}]: {Failure(device=n).sentence()}" for n in range(3))
    said = diagnosis(text)

    assert ["GPU 0 (rank 0)", "GPU 1 (rank 1)", "GPU 2 (rank 2)"] == [
        one["headline"].split(":")[0] for one in said.findings
    ]


def test_of_repeated_messages_it_is_said_that_the_last_is_told() -> None:
    said = evidence("\n".join(Failure(asked=asked * GIB).sentence() for asked in (8, 4, 2)))

    assert 3 == said["message_count"]["value"] and "told is the last" in said["message_count"]["text"]


def test_a_table_beside_it_keeps_its_own_answer() -> None:
    empty = writers.table(machine(gpu(0), gpu(1)))
    said = diagnosis(f"{FITS_NOT.sentence()}\n$ nvidia-smi\n{empty}")
    rules = {one["rule"] for one in said.findings}

    assert "out-of-memory" == said.verdict["rule"]
    assert {"out-of-memory", "post-mortem-sample"} <= rules
    assert [4 << 20, 4 << 20] == [one["readings"]["memory_used_bytes"] for one in said.gpus]


def test_a_gpu_of_the_text_is_not_taken_for_one_of_the_table() -> None:
    said = diagnosis(f"{FITS_NOT.sentence()}\n{writers.table(machine(gpu(0)))}")

    assert said.verdict["gpu"] is None
    assert "out-of-memory" not in {one["rule"] for one in said.gpus[0]["findings"]}


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: out of memory",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "cudaErrorMemoryAllocation",
    ],
)
def test_an_error_without_sizes_cannot_be_explained_and_says_what_to_paste(text: str) -> None:
    english, korean = diagnosis(text), diagnosis(text, "ko")

    assert ("unknown", []) == (english.verdict["severity"], english.findings)
    assert "the text does not say how much" in english.verdict["headline"]
    assert "크기가 텍스트에 없습니다" in korean.verdict["headline"]
    assert any("Tried to allocate" in note for note in english.notes)
    assert any("Tried to allocate" in note for note in korean.notes)


@pytest.mark.parametrize("asked", [999_999_999_999_999, 1e40])
def test_sizes_that_no_gpu_has_end_in_no_error(asked: float) -> None:
    text = FITS_NOT.sentence().replace("2.00 GiB", f"{asked:.2f} GiB").replace("70.50", "9" * 14 + ".00")

    assert diagnosis(text).verdict["severity"] in ("warning", "unknown")


def test_the_last_bytes_of_a_full_gpu_are_not_called_free() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 18.00 MiB (GPU 0; 10.00 GiB total capacity; 3.00 GiB already "
        "allocated; 30.00 MiB free; 3.25 GiB reserved in total by PyTorch)"
    )

    assert "does not say who holds 6.7 GiB" in explain(examine(window_of(text))).verdict["headline"]
