"""Who holds a GPU's memory: measured where it is told, calculated where the model is known by name."""

from typing import Any

import pytest

from gpudiag.ledger import ledger_of
from gpudiag.model import LedgerPart, MemoryLedger
from gpudiag.rules.situations import GIB, Situation, vllm_idle

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


def test_a_sleeping_engine_holds_no_weights() -> None:
    assert "weights" not in parts(serving(model=LLAMA, sleeping=True, pool_bytes=None, pool_tokens=None))
