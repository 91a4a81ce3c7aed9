"""What a chat answer keeps of a long diagnosis: the step that frees memory, and what changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bot.answers.asking import Asking
from bot.answers.diagnosis import lay_out
from bot.blocks import message
from bot.examples import ExampleApi
from bot.markdown import markdown, page, terminal
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


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_steps_that_are_left_out_are_counted_with_the_place_where_they_stand(lang: str) -> None:
    found, site = diagnosis(), "https://gpudiag.example.com"
    found["gpus"][0]["findings"][0]["next_steps"] = steps()
    found["observed"]["age_seconds"] = 1.0
    answer = lay_out(found, Target("node-3"), Asking(ExampleApi(), lang=lang, public_url=site))
    found["gpus"][0]["findings"][0]["next_steps"] = steps()[:3]
    whole = lay_out(found, Target("node-3"), Asking(ExampleApi(), lang=lang, public_url=site))

    (left,) = [note for note in answer.notes if f"{site}/nodes/node-3" in note]
    assert "2" in left
    assert [note for note in whole.notes if f"{site}/nodes/" in note] == []


@pytest.mark.parametrize(("lang", "on"), [("en", "on node-3:"), ("ko", "node-3 노드에서:")])
def test_a_command_says_on_which_host_it_is_typed(lang: str, on: str) -> None:
    found = diagnosis()
    commands = ["ps -p 4711", "kill 4711", "scancel 77"]
    found["gpus"][0]["findings"][0]["next_steps"] = [{"text": "Do", "command": c} for c in commands]
    answer = lay_out(found, Target("node-3"), Asking(ExampleApi(), lang=lang))

    assert [on, "", ""] == [step.on for step in answer.steps]
    assert f"     {on}\n     $ ps -p 4711" in terminal(answer)
    assert f"Do {on} `ps -p 4711`" in str(message(answer))
    assert f"Do *{on}* `ps -p 4711`" in markdown(answer)
    assert f"Do <em>{on}</em> <code>ps -p 4711</code>" in page(answer)


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
