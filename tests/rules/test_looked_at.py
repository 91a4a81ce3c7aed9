"""An answer opens with the GPU that its headline suspects, not with those that wait for it."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.plaintext import diagnosis_text
from gpudiag.rules.clocks.stuck_job.cases import CASES
from gpudiag.window import Window
from gpudiag.words.gpus import findings_of, headline_finding, looked_at


def ranks_that_spin(title: str) -> dict[str, Any]:
    """The diagnosis of a job on four GPUs, by a case of the rule."""
    case = next(case for case in CASES if case.title == title)
    window = case.window()
    assert isinstance(window, Window)
    found: dict[str, Any] = msgspec.to_builtins(explain(examine(window), "en"))
    return found


def head_of(diagnosis: dict[str, Any]) -> dict[str, Any] | None:
    return headline_finding(findings_of(diagnosis), diagnosis["verdict"])


ONE_DIFFERS, ALL_ALIKE = "ranks spin and one of them is quiet", "all ranks spin"


def test_the_rank_that_differs_is_looked_at_first() -> None:
    diagnosis = ranks_that_spin(ONE_DIFFERS)
    text = diagnosis_text(diagnosis, "en")

    assert 3 == looked_at(diagnosis, head_of(diagnosis))
    assert "the GPU that differs: 3" in text
    assert "pid 7203" in text and "pid 7200" not in text


def test_where_all_ranks_are_alike_the_first_one_is_looked_at() -> None:
    diagnosis = ranks_that_spin(ALL_ALIKE)

    assert 0 == looked_at(diagnosis, head_of(diagnosis))
    assert "the GPU that differs" not in diagnosis_text(diagnosis, "en")


def test_a_gpu_that_is_not_shown_is_not_looked_at() -> None:
    diagnosis = ranks_that_spin(ONE_DIFFERS)
    narrowed = {**diagnosis, "gpus": diagnosis["gpus"][:1]}

    assert looked_at(narrowed, head_of(diagnosis)) is None
