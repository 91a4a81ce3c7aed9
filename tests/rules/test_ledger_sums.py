"""The parts of the memory add up, whatever is filled; overflow and disagreement are shown, not cut."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.ledger import ledger_of
from gpudiag.model import LedgerPart, MemoryLedger
from gpudiag.rules.situations import GIB, Situation, vllm_processes

LLAMA_3_8B = 16_062_619_648  # 8.03 billion weights of two bytes, and the rotary table that vLLM builds
TOKEN = 128 << 10  # 2 x 32 layers x 8 heads x 128 x 2 bytes


def served(used: int = 75 * GIB, held: int = 74 * GIB, gpus: int = 1, **engine: Any) -> Situation:
    s = Situation(gpus=gpus)
    s.all_gpus(memory_used_bytes=used)
    vllm_processes(s, memory=held)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=list(range(gpus)), model="llama-3-8b", **engine)
    return s.passes(minutes=1)


def ledger(s: Situation, gpu: int = 0) -> MemoryLedger:
    found = ledger_of(next(g for g in s.window.gpus_in_order() if g.index == gpu))
    assert found is not None
    return found


def part(name: str, found: MemoryLedger) -> LedgerPart:
    return next(p for p in found.parts if p.part == name)


def test_the_filled_share_lies_inside_the_pool() -> None:
    found = ledger(served(pool_bytes=55 * GIB, kv_used_ratio=0.25))
    pool = part("kv_pool", found)

    assert (pool.bytes, pool.filled_bytes) == (55 * GIB, round(55 * GIB * 0.25))
    assert sum(p.bytes for p in found.parts) == 75 * GIB


def test_it_closes_with_a_known_engine_and_model() -> None:
    found = ledger(served(pool_tokens=440_000))

    assert part("weights", found).bytes == LLAMA_3_8B
    assert part("kv_pool", found).bytes == 440_000 * TOKEN
    assert sum(p.bytes for p in found.parts) == found.used_bytes


def test_tensor_parallel_splits_weights_and_pool() -> None:
    found = ledger(served(gpus=2, pool_tokens=440_000, tensor_parallel=2), gpu=1)

    assert part("weights", found).bytes == pytest.approx(LLAMA_3_8B / 2, rel=0.001)
    assert part("kv_pool", found).bytes == 440_000 * TOKEN // 2


def test_what_requests_fill_changes_no_sum() -> None:
    sums = {
        sum(p.bytes for p in ledger(served(pool_bytes=55 * GIB, kv_used_ratio=used)).parts)
        for used in (0.0, 0.5, 1.0)
    }

    assert len(sums) == 1


def test_what_nobody_claims_is_named() -> None:
    found = ledger(served(used=75 * GIB, held=60 * GIB, pool_bytes=40 * GIB))

    assert part("unaccounted", found).bytes == 15 * GIB


def test_differences_of_rounding_are_not_named() -> None:
    found = ledger(served(used=74 * GIB + (40 << 20), pool_bytes=55 * GIB))

    assert "unaccounted" not in {p.part for p in found.parts}


def test_a_process_that_does_not_tell_leaves_no_invented_rest() -> None:
    s = served(pool_bytes=55 * GIB)
    s.runs({0: None}, pid=9000, name="python.exe")
    found = ledger(s.passes(seconds=10))

    assert "unaccounted" not in {p.part for p in found.parts}


def test_other_programs_are_named_with_their_owner() -> None:
    s = served(used=78 * GIB, pool_bytes=55 * GIB)
    s.runs({0: 3 * GIB}, pid=9000, name="python3", slurm_job="77")
    other = part("other_process", ledger(s.passes(seconds=10)))

    assert (other.bytes, other.owner) == (3 * GIB, "python3 (pid 9000, Slurm job 77)")


def test_parts_that_exceed_the_card_are_not_cut() -> None:
    found = ledger(served(used=79 * GIB, held=90 * GIB, pool_bytes=70 * GIB))

    assert found.over_capacity_bytes > 0
    assert sum(p.bytes for p in found.parts) == 90 * GIB


def test_calculated_weights_stand_beside_what_is_there() -> None:
    found = ledger(served(held=64 * GIB, used=64 * GIB, pool_bytes=55 * GIB))
    weights = part("weights", found)

    assert (weights.bytes, weights.expected_bytes, weights.kind) == (9 * GIB, LLAMA_3_8B, "inferred")
    assert found.disagreement_ratio == pytest.approx(LLAMA_3_8B / (9 * GIB) - 1, abs=0.001)


def test_a_sleeping_engine_holds_only_what_is_measured() -> None:
    found = ledger(served(used=2 * GIB, held=2 * GIB, pool_bytes=55 * GIB, sleeping=True))

    assert [("other_process", 2 * GIB)] == [(p.part, p.bytes) for p in found.parts]


def test_a_nonsense_gauge_fills_nothing() -> None:
    assert part("kv_pool", ledger(served(pool_bytes=55 * GIB, kv_used_ratio=37.0))).filled_bytes is None
