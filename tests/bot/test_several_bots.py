"""More than one bot, and connections that break: everything is told once, and nobody waits in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from bot.settings import Settings
from tests.bot.conftest import Running
from tests.bot.recorded import RecordedApi
from tests.doubles.slack.people import BySocket, Person
from tests.doubles.slack.server import Message, SlackDouble
from tests.doubles.slack.websocket import Connection
from tests.waiting import PATIENCE_SECONDS


def alerts(slack: SlackDouble, node: str) -> list[Message]:
    return [m for m in slack.posts() if m.text.startswith("Firing") and node in m.text]


def test_two_bots_with_one_file_tell_once_and_the_second_takes_over_at_once(
    settings: Settings, slack: SlackDouble, api: RecordedApi
):
    with ExitStack() as longer:
        with Running(settings) as first:
            longer.enter_context(Running(settings))
            first.program.state.watch("T0001", "C0001", "all", "U0001", first.program.desk.clock(), "en")
            slack.wait(lambda: first.program.state.note("cursor"))
            api.opens("node-7")
            slack.wait(lambda: alerts(slack, "node-7"))
            time.sleep(1)  # ten looks of either bot
        api.opens("node-8")
        slack.wait(lambda: alerts(slack, "node-8"))

    assert (len(alerts(slack, "node-7")), len(alerts(slack, "node-8"))) == (1, 1)


@pytest.fixture
def connected(settings: Settings, slack: SlackDouble) -> Iterator[Connection]:
    """The bot's Socket Mode connection, which it looks at as often as it does for people."""
    often = Settings().reconnect_seconds
    with Running(replace(settings, app_token="xapp-test", signing_secret="", reconnect_seconds=often)):
        yield slack.wait(lambda: slack.sockets and slack.sockets[0])
        slack.hangs_up()


def command(slack: SlackDouble, **more: object) -> dict[str, object]:
    payload = {
        "team_id": "T0001", "channel_id": "C0001", "user_id": "U0001", "command": "/gpu",
        "text": "why node-3", "trigger_id": "trigger.cut",
        "response_url": slack.response_url("C0001", "U0001"),
    }  # fmt: skip
    return {"type": "slash_commands", "envelope_id": "envelope-cut", "payload": payload,
            "accepts_response_payload": True, **more}  # fmt: skip


def test_a_command_whose_acknowledgement_was_cut_off_is_answered_when_it_comes_again(
    connected: Connection, slack: SlackDouble, api: RecordedApi
):
    api.slow_seconds = 0.5
    connected.send(command(slack))
    slack.wait(lambda: any("/v1/nodes/node-3" in asked for asked in api.asked))
    connected.close()
    again = slack.wait(lambda: slack.sockets[1:] and slack.sockets[1])
    again.send(command(slack, retry_attempt=1, retry_reason="timeout"))
    arrived, answer = again.ack_of("envelope-cut", PATIENCE_SECONDS)

    assert arrived and answer["text"].startswith("node-3: memory full")
    assert sum("/v1/nodes/node-3" in asked for asked in api.asked) == 1


def test_a_connection_that_is_being_opened_while_the_bot_stops_does_not_stay(
    settings: Settings, slack: SlackDouble
):
    with Running(replace(settings, app_token="xapp-test", signing_secret="")):
        slack.wait(lambda: slack.sockets)
        slack.slow["apps.connections.open"] = 1.0
        slack.hangs_up()
        slack.wait(lambda: slack.calls["apps.connections.open"] > 1)

    slack.wait(lambda: not any(connection.open for connection in slack.sockets))


def test_a_connection_that_broke_while_slack_was_away_comes_back(connected: Connection, slack: SlackDouble):
    slack.goes_away()
    connected.close()
    time.sleep(1)
    slack.comes_back()
    slack.wait(lambda: len(slack.sockets) > 1)

    assert Person(slack, BySocket(slack)).asks("why node-3").blocks


@pytest.mark.parametrize("page", [b"<html>", b'{"ok": false, "error": "internal_error"}'])
def test_an_odd_page_instead_of_an_address_to_connect_to_is_outlived(
    connected: Connection, slack: SlackDouble, page: bytes
):
    slack.answers_oddly("apps.connections.open", 200, page)
    connected.send({"type": "disconnect", "reason": "refresh_requested"})
    slack.wait(lambda: slack.calls["apps.connections.open"] > 1)
    connected.close()
    slack.odd.clear()
    slack.wait(lambda: len(slack.sockets) > 1)

    assert Person(slack, BySocket(slack)).asks("why node-3").blocks


def test_a_slack_that_sends_the_bot_away_again_and_again_is_not_stormed(
    connected: Connection, slack: SlackDouble
):
    until = time.monotonic() + 3
    while time.monotonic() < until:
        slack.hangs_up()
        time.sleep(0.01)
    opened = slack.calls["apps.connections.open"]
    slack.wait(lambda: slack.sockets[-1].open)

    assert opened <= 10
    assert Person(slack, BySocket(slack)).asks("why node-3").blocks
