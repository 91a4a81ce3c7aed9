"""What a chat answer keeps of a long diagnosis: the step that frees memory, and what changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bot.answers.asking import Asking
from bot.answers.diagnosis import lay_out
from bot.examples import ExampleApi
from bot.request import Target


def diagnosis() -> dict[str, Any]:
    return copy.deepcopy(ExampleApi().diagnosis("node-3"))


def steps() -> list[dict[str, Any]]:
    return [{"text": f"Step {number}", "command": f"look {number}"} for number in range(5)]


def test_the_step_that_frees_is_kept_wherever_it_stands() -> None:
    found = diagnosis()
    freeing = {"text": "To free it", "command": "scancel 77", "frees": True}
    found["gpus"][0]["findings"][0]["next_steps"] = [*steps(), freeing]
    answer = lay_out(found, Target("node-3"), Asking(ExampleApi()), live=False)

    assert [step.command for step in answer.steps] == ["look 0", "look 1", "look 2", "scancel 77"]


@pytest.mark.parametrize(("lang", "said"), [("en", "Changed since it was last ok"), ("ko", "마지막 정상")])
def test_what_changed_stands_among_the_notes(lang: str, said: str) -> None:
    found = diagnosis()
    found["changed"] = {
        "last_ok": "2026-11-29T14:02:00Z",
        "items": [
            {"at": "2026-11-29T14:03:00Z", "what": "opened", "gpu": 0, "headline": "GPU 0 fell off the bus"}
        ],
    }
    answer = lay_out(found, Target("node-3"), Asking(ExampleApi(), lang=lang), live=False)

    assert said in answer.notes[0]
    assert "GPU 0 fell off the bus" in answer.notes[0]


def test_a_node_that_is_ok_has_no_changes_to_tell() -> None:
    answer = lay_out(diagnosis(), Target("node-3"), Asking(ExampleApi()), live=False)

    assert not any("Changed since" in note for note in answer.notes)
