"""Who holds a GPU's memory: measured where it is told, calculated where the model is known by name."""

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.ledger import ledger_of
from gpudiag.model import LedgerPart, MemoryLedger
from gpudiag.plaintext import diagnosis_text
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.words import Language

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_TOKEN_BYTES = 131_072


def ledger(story: Situation) -> MemoryLedger:
    found = ledger_of(story.passes(minutes=1).window.gpus_in_order()[0])
    assert found is not None
    return found


def parts(story: Situation) -> dict[str, LedgerPart]:
    return {part.part: part for part in ledger(story).parts}


def serving(**values: Any) -> Situation:
    story = vllm_idle(minutes=0)
    story.serves("vllm", **values)
    story.all_gpus(memory_used_bytes=74 * GIB)
    return story


def test_the_pool_is_the_told_tokens_times_the_calculated_bytes_of_one() -> None:
    pool = parts(serving(model=LLAMA, pool_bytes=None, pool_tokens=450_000))["kv_pool"]

    assert pool.bytes == 450_000 * LLAMA_TOKEN_BYTES
    assert pool.kind == "calculated"


def test_a_measured_pool_stands_beside_the_calculated_one() -> None:
    pool = parts(serving(model=LLAMA, pool_bytes=55 * GIB))["kv_pool"]

    assert (pool.bytes, pool.kind) == (55 * GIB, "measured")
    assert pool.expected_bytes == pytest.approx(55 * GIB, rel=0.05)


def test_weights_pool_and_rest_are_what_is_used() -> None:
    told = ledger(serving(model=LLAMA, pool_bytes=55 * GIB))

    assert [part.part for part in told.parts] == ["weights", "kv_pool", "runtime"]
    assert sum(part.bytes for part in told.parts) == told.used_bytes == 74 * GIB


def test_agreement_is_no_disagreement() -> None:
    assert (ledger(serving(model=LLAMA, pool_bytes=55 * GIB)).disagreement_ratio or 0) < 0.05


def test_a_pool_of_another_size_disagrees() -> None:
    assert (ledger(serving(model=LLAMA, pool_bytes=30 * GIB)).disagreement_ratio or 0) > 0.05


def test_parts_that_exceed_the_card_are_not_cut() -> None:
    story = serving(model="meta-llama/Llama-3.3-70B-Instruct", pool_bytes=None, pool_tokens=None)
    told = ledger(story)

    assert sum(part.bytes for part in told.parts) > 74 * GIB
    assert told.over_capacity_bytes > 0


@pytest.mark.parametrize("model", ["my-model", "/models/llama", None])
def test_a_model_that_is_not_known_by_name_is_not_guessed(model: str | None) -> None:
    told = ledger(serving(model=model, pool_bytes=None))

    assert "weights" not in {part.part for part in told.parts}
    assert told.disagreement_ratio is None


@pytest.mark.parametrize(
    "model",
    [
        "/models/Llama-3.1-8B-Instruct/",
        "/root/.cache/huggingface/hub/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f2",
        "llama3.1:8b",
    ],
)
def test_a_model_is_known_by_its_path_and_its_aliases(model: str) -> None:
    assert parts(serving(model=model, pool_bytes=None))["weights"].bytes == pytest.approx(16.09e9, rel=0.001)


def test_the_model_that_is_loaded_counts_and_not_what_the_server_calls_it() -> None:
    told = parts(serving(model="chat", model_path=LLAMA, pool_bytes=None))

    assert told["weights"].bytes == pytest.approx(16.09e9, rel=0.001)


@pytest.mark.parametrize(
    "model", ["openai/gpt-oss-20b", "Qwen/Qwen3.5-27B", "google/gemma-3-4b-it", "mistralai/Mistral-7B-v0.1"]
)
def test_tokens_are_no_capacity_where_layers_keep_windows_or_states(model: str) -> None:
    told = parts(serving(model=model, pool_bytes=None, pool_tokens=450_000))

    assert "weights" in told
    assert "kv_pool" not in told


def test_a_pool_told_in_bytes_is_kept_whatever_the_layers_are() -> None:
    pool = parts(serving(model="openai/gpt-oss-20b", pool_bytes=40 * GIB))["kv_pool"]

    assert (pool.bytes, pool.kind, pool.expected_bytes) == (40 * GIB, "measured", None)


def test_blocks_are_counted_as_tokens() -> None:
    pool = parts(serving(model=LLAMA, pool_bytes=None, pool_tokens=None, pool_blocks=28_000, block_size=16))

    assert pool["kv_pool"].bytes == 28_000 * 16 * LLAMA_TOKEN_BYTES


def test_weights_that_the_engine_tells_stand_beside_the_calculated_ones() -> None:
    told = ledger(serving(model=LLAMA, pool_bytes=None, weights_bytes=9 * GIB))
    weights = next(part for part in told.parts if part.part == "weights")

    assert (weights.bytes, weights.kind) == (9 * GIB, "measured")
    assert weights.expected_bytes == pytest.approx(16.09e9, rel=0.001)
    assert told.disagreement_ratio == pytest.approx(16.09e9 / (9 * GIB) - 1, abs=0.01)


def test_a_quantised_file_is_not_weighed_by_its_model_s_name() -> None:
    story = Situation()
    story.all_gpus(memory_used_bytes=6 * GIB)
    story.runs(
        {0: 6 * GIB}, pid=600, name="ollama", command="/usr/bin/ollama runner --model /blobs/sha256-667b"
    )
    story.serves("ollama", pid=600, gpus=[0], model="llama3.1:8b")
    told = ledger(story)

    assert [("other_process", 6 * GIB)] == [(part.part, part.bytes) for part in told.parts]


def test_gpus_beyond_the_told_parallelism_leave_the_share_unknown() -> None:
    story = vllm_idle(gpus=4, minutes=0)
    story.serves("vllm", gpus=[0, 1, 2, 3], model=LLAMA, tensor_parallel=2, pool_bytes=None)

    assert "weights" not in parts(story)


def test_more_calculated_than_its_processes_hold_disagrees() -> None:
    told = ledger(serving(model=LLAMA, pool_bytes=None, pool_tokens=900_000))  # its keys are fp8, not bf16

    assert (told.disagreement_ratio or 0) > 0.05


@pytest.mark.parametrize(
    ("language", "said"), [("en", "another KV dtype"), ("ko", "KV dtype이나 텐서 병렬 크기가 다르거나")]
)
def test_what_a_disagreement_usually_means_is_said_once(language: Language, said: str) -> None:
    story = serving(model=LLAMA, pool_bytes=30 * GIB).passes(minutes=1)
    found = msgspec.to_builtins(explain(examine(story.window), language))

    assert [True] == [said in note for note in found["notes"]]
    assert " ".join(diagnosis_text(found).split()).count(said) == 1


def test_measured_and_calculated_stand_side_by_side_in_the_text() -> None:
    story = serving(model=LLAMA, pool_bytes=55 * GIB).passes(minutes=1)
    text = diagnosis_text(msgspec.to_builtins(explain(examine(story.window))))

    assert "KV pool: 55.0 GiB (measured), calculated: 54.9 GiB, filled 0 B" in text


def test_each_part_of_the_bar_says_which_glyph_it_is() -> None:
    story = serving(model=LLAMA, pool_bytes=55 * GIB).passes(minutes=1)
    lines = diagnosis_text(msgspec.to_builtins(explain(examine(story.window)))).splitlines()
    bar = next(line for line in lines if line.startswith("Memory"))
    glyphs = {
        line[2:4].strip(): line[5:].split(":")[0] for line in lines if line[2:4].strip() in ("█", "▓░", "▒")
    }

    assert {"█": "weights", "▓░": "KV pool", "▒": "runtime"} == glyphs
    assert {"█", "░", "▒"} <= set(bar)


def test_agreement_needs_no_remark() -> None:
    story = serving(model=LLAMA, pool_bytes=55 * GIB).passes(minutes=1)

    assert explain(examine(story.window)).notes == []


def test_a_sleeping_engine_holds_no_weights() -> None:
    assert "weights" not in parts(serving(model=LLAMA, sleeping=True, pool_bytes=None, pool_tokens=None))
