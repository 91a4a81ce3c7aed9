"""What Slack may answer to what the bot sends: odd pages, refusals, busy; each has one of two names."""

from __future__ import annotations

import time

import pytest

from bot.blocks import message
from bot.delivery import Delivery, SlackAway, SlackRefused
from bot.examples import answers
from bot.settings import Settings
from tests.doubles.slack.server import SlackDouble


@pytest.fixture
def delivery(settings: Settings) -> Delivery:
    return Delivery(settings)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>Sign in to the proxy</html>"), (200, b""), (200, b"[]"), (200, b"[1]"), (200, b"null"),
        (200, b'"ok"'), (200, b'{"ok": true}'), (200, b'{"ok": false}'), (200, b"\xff\xfe"),
        (200, b'{"ok": false, "error": {"a": 1}}'), (204, b""), (500, b"<html>"), (503, b""),
        (502, b'{"ok": false, "error": "bad_gateway"}'),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_slack_means_that_slack_is_away(
    delivery: Delivery, slack: SlackDouble, status: int, body: bytes
):
    slack.answers_oddly("chat.postMessage", status, body)

    with pytest.raises(SlackAway):
        delivery.post("C0001", {"text": "x"})


def test_a_picture_that_meets_an_odd_page_is_not_delivered(delivery: Delivery, slack: SlackDouble):
    slack.answers_oddly("files.getUploadURLExternal", 200, b"[1]")

    with pytest.raises(SlackAway):
        delivery.upload("C0001", "a.png", "a", b"x")


def test_errors_that_are_no_list_are_still_a_refusal(delivery: Delivery, slack: SlackDouble):
    slack.answers_oddly("chat.postMessage", 200, b'{"ok": false, "error": "no_text", "errors": 3}')

    with pytest.raises(SlackRefused, match="no_text"):
        delivery.post("C0001", {"text": "x"})


@pytest.mark.parametrize("wait", ["3600", "99999999999", "soon", "-5", "1.5", ""])
def test_an_answer_does_not_wait_as_long_as_a_busy_slack_may_ask(
    delivery: Delivery, slack: SlackDouble, wait: str
):
    slack.answers_oddly("chat.postMessage", 429, b'{"ok": false, "error": "ratelimited"}', wait)
    started = time.monotonic()

    with pytest.raises(SlackAway) as caught:
        delivery.post("C0001", {"text": "x"})
    assert 0 < caught.value.retry_after <= 300
    assert time.monotonic() - started < 2


def test_a_short_wait_is_kept_and_the_message_arrives(delivery: Delivery, slack: SlackDouble):
    slack.rate_limits("chat.postMessage", times=1, retry_after=1)
    delivery.post("C0001", {"text": "x"})

    assert [m.text for m in slack.posts()] == ["x"]


def test_a_layout_that_slack_refuses_is_told_in_words(delivery: Delivery, slack: SlackDouble):
    said = message(answers("ko")["why"])
    said["blocks"] = [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]
    ts = delivery.post("C0001", said)
    delivery.edit("C0001", ts, {**said, "text": "가" * 3000})
    delivery.respond(slack.response_url("C0001", "U0001"), said)

    assert [m.blocks for m in slack.messages] == [[], []]
    assert slack.messages[0].text.startswith("가")
    assert slack.messages[1].text == said["text"]
