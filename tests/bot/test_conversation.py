"""What people type and press in Slack, and what they read. Over both transports where it says `anyone`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.answers.asking import Place
from bot.desk import Desk
from bot.examples import ExampleApi
from bot.settings import Settings
from bot.state import State
from tests.bot.conftest import Running
from tests.bot.recorded import RecordedApi
from tests.doubles.slack.people import ByHttp, BySocket, Person
from tests.doubles.slack.server import SlackDouble

POOL = "node-3: memory full, util 0%: reserved KV pool, normal"


@pytest.fixture(params=["http", "socket"])
def anyone(request: pytest.FixtureRequest, settings: Settings, slack: SlackDouble) -> Iterator[Person]:
    """The same person over each transport in turn."""
    if request.param == "socket":
        settings = replace(settings, app_token="xapp-test", signing_secret="")
    with Running(settings) as running:
        if request.param == "http":
            yield Person(slack, ByHttp(running.url))
        else:
            slack.wait(lambda: slack.sockets)
            yield Person(slack, BySocket(slack))
            slack.hangs_up()  # a bot that stops while it reads would wait until it has nothing to read


def header(message) -> str:
    return message.blocks[0]["text"]["text"]


def test_a_command_is_answered_in_its_acknowledgement(anyone: Person, slack: SlackDouble):
    reply = anyone.types("why node-3")

    assert (reply.status, header(reply.message)) == (200, POOL)
    assert reply.message.only_for == anyone.user
    assert slack.calls["response_url"] == 0


def test_the_fleet_stands_worst_first(anyone: Person):
    answer = anyone.asks("")

    assert header(answer) == "5 nodes, 28 GPUs: 1 critical, 2 warning"
    table = next(block for block in answer.blocks if block["type"] == "table")
    assert [row[0]["text"] for row in table["rows"][1:]] == ["node-7", "node-2", "node-8", "node-3", "node-1"]
    assert [row[3]["text"] for row in table["rows"]] == ["Memory", "89 %", "92 %", "–", "94 %", "91 %"]
    assert [row[4]["text"] for row in table["rows"]] == ["Util", "92 %", "23 %", "–", "0 %", "88 %"]


def test_commands_that_carry_no_trigger_are_not_taken_for_one(person: Person):
    answers = [person.types(text, trigger_id="").message for text in ("why node-3", "help")]

    assert [header(answer) for answer in answers] == [POOL, "Ask what your GPUs are doing, and why"]


def test_here_answers_the_whole_channel(person: Person, slack: SlackDouble):
    person.types("why node-3 here")

    assert [header(message) for message in slack.posts("C0001")] == [POOL]


def test_a_slow_api_is_acknowledged_at_once_and_answered_later(
    settings, slack: SlackDouble, api: RecordedApi
):
    from dataclasses import replace

    from tests.doubles.slack.people import ByHttp

    api.hold = threading.Event()
    with Running(replace(settings, answer_seconds=0.05)) as running:
        person = Person(slack, ByHttp(running.url))
        reply = person.types("why node-3")
        asking = reply.message.text
        api.hold.set()
        slack.wait(lambda: reply.message.edits)

    assert (asking, header(reply.message)) == ("Asking…", POOL)
    assert reply.seconds < 3  # Slack's own limit; our API would hold it for ten


def test_a_mention_is_answered_in_its_thread_to_the_asker_alone(anyone: Person, slack: SlackDouble):
    anyone.mentions("why node-3", thread_ts="1700000000.000001")
    answer = slack.wait(lambda: slack.messages and slack.messages[0])

    assert ("1700000000.000001", anyone.user, POOL) == (answer.thread_ts, answer.only_for, header(answer))


def test_a_mention_with_here_is_answered_for_everybody(person: Person, slack: SlackDouble):
    person.mentions("why node-3 here", thread_ts="1700000000.000001")

    assert [m.only_for for m in slack.wait(lambda: slack.messages)] == [None]


def test_a_direct_message_is_answered(anyone: Person, slack: SlackDouble):
    anyone.writes_directly("node-3 왜?")
    answer = slack.wait(lambda: slack.posts("D0001"))[0]

    assert "정상" in answer.words


def test_the_bots_own_messages_are_not_answered(person: Person, slack: SlackDouble):
    person.writes_directly("why node-3", bot_id="B0001")
    person.writes_directly("why node-3", subtype="message_changed")
    person.opens_home()
    slack.wait(lambda: slack.homes)

    assert slack.messages == []


def test_an_event_delivered_three_times_is_answered_once(anyone: Person, slack: SlackDouble):
    for attempt in range(3):
        anyone.mentions("why node-3", event_id="Ev1", headers={"X-Slack-Retry-Num": str(attempt)})
    slack.wait(lambda: slack.messages)
    anyone.opens_home()
    slack.wait(lambda: slack.homes)

    assert len(slack.messages) == 1


def test_refresh_takes_the_place_of_the_old_answer(anyone: Person, slack: SlackDouble, api: RecordedApi):
    answer = anyone.asks("why node-3")
    api.age_seconds = 9.0
    anyone.presses(answer, "Refresh")
    slack.wait(lambda: answer.edits)

    assert "data 9 s old" in answer.words
    assert len(slack.messages) == 1


def test_post_to_channel_shows_it_to_everybody(anyone: Person, slack: SlackDouble):
    answer = anyone.asks("why node-3")
    anyone.presses(answer, "Post to channel")
    shared = slack.wait(lambda: slack.posts("C0001"))

    assert [header(message) for message in shared] == [POOL]
    assert answer.only_for == anyone.user


def test_the_runbook_button_is_an_absolute_link_and_its_press_is_acknowledged(
    person: Person, slack: SlackDouble
):
    answer = person.asks("why node-3")

    assert answer.action("Runbook")["url"] == "https://gpudiag.example.com/runbooks/kv-pool-reserved-idle"
    assert person.presses(answer, "Runbook").status == 200


def test_the_menu_of_the_fleet_asks_why(person: Person, slack: SlackDouble):
    fleet = person.asks("status")
    person.presses(fleet, "Why…", option="node-3")
    answer = slack.wait(lambda: next((m for m in slack.messages if m.blocks and header(m) == POOL), None))

    assert person.user == answer.only_for


def test_the_calculator_has_the_bar_and_the_next_questions(person: Person, slack: SlackDouble):
    answer = person.asks("kv llama-3-8b 8192 x32 on H100")
    person.presses(answer, "Double context")
    slack.wait(lambda: answer.edits)

    assert "llama-3-8b × 16,384 tokens × 32 requests" in header(answer)
    assert answer.labels == ["fp8 KV", "Double context", "Compare with node-3", "Post to channel"]
    assert "▓ KV cache" in answer.words


def test_a_typo_gets_the_nearest_command_with_its_arguments(anyone: Person, slack: SlackDouble):
    answer = anyone.asks("wyh node-3")
    anyone.presses(answer, "Run it")
    slack.wait(lambda: answer.edits)

    assert header(answer) == POOL


def test_an_unknown_node_gets_the_nearest_names_as_buttons(person: Person, slack: SlackDouble):
    answer = person.asks("why nod-3")
    person.presses(answer, "node-3")
    slack.wait(lambda: answer.edits)

    assert header(answer) == POOL


def test_the_home_tab_shows_the_fleet_when_opened_and_refreshes_there(anyone: Person, slack: SlackDouble):
    anyone.opens_home()
    slack.wait(lambda: slack.homes)
    anyone.presses_at_home("Refresh")
    slack.wait(lambda: slack.calls["views.publish"] == 2)

    assert "5 nodes" in slack.homes[anyone.user]["blocks"][0]["text"]["text"]
    assert slack.messages == []


def test_the_timeline_picture_goes_into_the_thread(person: Person, slack: SlackDouble):
    person.mentions("chart node-3", thread_ts="1700000000.000001")
    file = slack.wait(lambda: slack.files)[0]

    assert (
        file["channel"],
        file["thread_ts"],
        file["data"][:4],
    ) == ("C0001", "1700000000.000001", b"\x89PNG")


def test_pasted_output_is_read_from_a_message(anyone: Person, slack: SlackDouble, api: RecordedApi):
    anyone.uses_shortcut("look:\n```\n| 0  H100 &lt;x&gt; |\n```")
    answer = slack.wait(lambda: slack.messages)[0]

    assert api.decided[0] == ("paste", {"text": "| 0  H100 <x> |"})
    assert anyone.user == answer.only_for


def test_pasted_output_is_read_from_an_attached_file(person: Person, slack: SlackDouble, api: RecordedApi):
    slack.stored["F1"] = b"| NVIDIA-SMI 580.65 |"
    person.uses_shortcut("", [{"url_private": f"{slack.origin}/files/F1", "mimetype": "text/plain"}])
    slack.wait(lambda: slack.messages)

    assert api.decided[0] == ("paste", {"text": "| NVIDIA-SMI 580.65 |"})


def test_explain_opens_a_form_whose_text_is_answered(anyone: Person, slack: SlackDouble, api: RecordedApi):
    anyone.types("explain")
    view = slack.wait(lambda: slack.views)[0]
    anyone.submits(view, "| NVIDIA-SMI 580.65 |")
    answer = slack.wait(lambda: slack.messages)[0]

    assert api.decided[0] == ("paste", {"text": "| NVIDIA-SMI 580.65 |"})
    assert anyone.user == answer.only_for


def test_an_empty_form_is_not_taken(person: Person, slack: SlackDouble):
    person.types("explain")
    view = slack.wait(lambda: slack.views)[0]

    assert person.submits(view).body["response_action"] == "errors"


def test_a_persons_own_slack_language_is_used_from_the_second_answer_on(person: Person, slack: SlackDouble):
    slack.users["U0001"] = {"locale": "ko-KR", "tz": "Asia/Seoul"}
    person.asks("why node-3")
    slack.wait(lambda: slack.calls["users.info"])
    answers = slack.wait(lambda: "정상" in person.asks("why node-3").words)

    assert answers
    assert slack.calls["users.info"] == 1


def test_a_person_who_asks_again_while_the_language_is_looked_up_is_looked_up_once(settings):
    place = Place("T0001", "C0001", "U0001")
    looked_up: list[str] = []
    asked_again: list[Place] = []

    def clock() -> datetime:
        if looked_up and not asked_again:  # it was found, and is not kept yet
            asked_again.append(place)
            desk.language(place)
        return datetime.now(UTC)

    state = State(settings.state_path)
    desk = Desk(settings, ExampleApi(), state, clock=clock)
    desk.person = looked_up.append
    desk.language(place)
    desk.close()
    state.close()

    assert (asked_again, looked_up) == ([place], ["U0001"])


def test_a_channels_language_holds_for_everybody_and_lang_overrides_it(person: Person, slack: SlackDouble):
    person.types("language ko")

    assert "정상" in person.asks("why node-3").words
    assert "Normal" in person.asks("why node-3 lang=en").words


def test_a_workspaces_language_holds_where_the_channel_has_none(person: Person):
    person.types("language ko workspace")
    person.channel = "C0002"

    assert "정상" in person.asks("why node-3").words


def test_stale_data_is_no_confident_verdict(person: Person, api: RecordedApi):
    api.age_seconds = 240.0
    answer = person.asks("why node-3")

    assert header(answer) == "node-3: no fresh data for 4 min, so the state now is not known"
    assert "Cannot tell" in answer.words
