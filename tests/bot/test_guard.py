"""Requests that nobody may act on: refused before our code, and with no request going out."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from bot.guard import LARGEST_BYTES, is_slacks
from tests.bot.conftest import Running
from tests.bot.recorded import RecordedApi
from tests.doubles.slack.people import ByHttp, Person
from tests.doubles.slack.server import SlackDouble

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def trap(slack: SlackDouble) -> str:
    """A response_url that must never be called."""
    return slack.response_url("C0666", "U0666")


def body_of(response_url: str, **more: str) -> str:
    form = {"command": "/gpu", "text": "why node-3", "team_id": "T0001", "channel_id": "C0001",
            "user_id": "U0001", "trigger_id": "t1", "response_url": response_url}  # fmt: skip
    return urlencode({**form, **more})


def nothing_went_out(slack: SlackDouble, api: RecordedApi) -> bool:
    asked = [request for request in api.asked if "/v1/findings" not in request and "/v1/mutes" not in request]
    return not asked and not slack.calls["response_url"] and set(slack.calls) <= {"auth.test"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Slack-Request-Timestamp": "x", "X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Request-Timestamp": "1" * 5000, "X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Request-Timestamp": "-1", "X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Request-Timestamp": "NOW", "X-Slack-Signature": "v0=é" + "0" * 63},
        {"X-Slack-Request-Timestamp": "NOW", "X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Request-Timestamp": "NOW", "X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "１２３", "X-Slack-Signature": "v0=" + "0" * 64},
    ],
)
def test_what_is_not_signed_goes_nowhere(bot: Running, slack, api, trap: str, headers: dict[str, str]):
    now = str(int(time.time()))
    sent = {name: value.replace("NOW", now).encode() for name, value in headers.items()}
    reply = ByHttp(bot.url).raw(body_of(trap).encode(), {**FORM, **sent})

    assert reply.status == 401
    assert nothing_went_out(slack, api)


def test_a_wrong_secret_goes_nowhere(bot: Running, slack, api, trap: str):
    way = ByHttp(bot.url, secret="another secret")
    body = body_of(trap)

    assert way.raw(body.encode(), {**FORM, **way.signature(body)}).status == 401
    assert nothing_went_out(slack, api)


def test_an_old_signature_goes_nowhere(bot: Running, slack, api, trap: str):
    way = ByHttp(bot.url)
    body = body_of(trap)
    old = way.signature(body, str(int(time.time()) - 301))

    assert way.raw(body.encode(), {**FORM, **old}).status == 401
    assert nothing_went_out(slack, api)


def test_a_clock_that_is_wrong_stands_in_the_log_once_a_minute(bot: Running, slack: SlackDouble, caplog):
    way = ByHttp(bot.url)
    body = body_of(slack.response_url("C0001", "U0001"))
    with caplog.at_level("WARNING", "gpudiag.bot.slack"):
        for offset in (-400, -401, 400, 401):
            way.raw(body.encode(), {**FORM, **way.signature(body, str(int(time.time()) + offset))})

    told = [r.getMessage() for r in caplog.records if "refused a request" in r.getMessage()]
    assert told == ["slack: refused a request: too old; is the clock of this machine right?"]


def test_a_changed_body_goes_nowhere(bot: Running, slack, api, trap: str):
    way = ByHttp(bot.url)
    signed = way.signature(body_of(trap))

    assert way.raw(body_of(trap, text="mute node-3 7d").encode(), {**FORM, **signed}).status == 401
    assert nothing_went_out(slack, api)


def test_a_replayed_request_is_refused_by_every_worker(bot: Running, settings, slack: SlackDouble):
    way = ByHttp(bot.url)
    body = body_of(slack.response_url("C0001", "U0001"))
    signed = way.signature(body)
    first = way.raw(body.encode(), {**FORM, **signed}).status
    with Running(settings) as other_worker:
        replayed = [
            ByHttp(url).raw(body.encode(), {**FORM, **signed}).status for url in (bot.url, other_worker.url)
        ]

    assert (first, replayed) == (200, [401, 401])


def test_an_oversized_request_is_refused_unread(bot: Running, slack, api):
    headers = {**FORM, "X-Slack-Request-Timestamp": "1", "X-Slack-Signature": "v0=" + "0" * 64}

    assert ByHttp(bot.url).raw(b"x" * (LARGEST_BYTES + 1), headers).status == 413
    assert nothing_went_out(slack, api)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe", b"payload=%7B", b"payload=[]", b"{", b"", b"payload=null", b"a=%ff",
        b"payload=%7B%22type%22%3A5%7D", b'{"type":"event_callback","team_id":"T0001","event":5}',
        b'{"type":"event_callback","team_id":"T0001","event":{}}',
        b"payload=%7B%22type%22%3A%22block_actions%22%2C%22team%22%3A%22T0001%22%2C%22actions%22%3A5%7D",
    ],
)  # fmt: skip
def test_signed_nonsense_harms_nobody(bot: Running, slack, api, caplog, body: bytes):
    way = ByHttp(bot.url)
    headers = {**FORM, **way.signature(body.decode("utf-8", "replace"))}
    kind = {"content-type": "application/json"} if body[:1] == b"{" else FORM
    reply = way.raw(body, {**headers, **kind})

    assert reply.status < 500
    assert "Traceback" not in caplog.text
    assert nothing_went_out(slack, api)
    assert Person(slack, way).asks("why node-3").blocks


def test_a_command_that_fails_over_its_request_is_answered_with_a_word(bot: Running, caplog):
    form = {"command": "/gpu", "text": "why node-3", "team_id": "T0001", "user_id": "U0001"}  # and no channel
    reply = ByHttp(bot.url).send(form, None)

    assert reply.status == 200
    assert "Something went wrong in the bot" in str(reply.body)
    assert "handling /gpu failed" in caplog.text


def test_a_foreign_response_url_is_not_used(settings, slack: SlackDouble, api: RecordedApi):
    import threading

    with SlackDouble() as elsewhere:
        api.hold = threading.Event()
        with Running(replace(settings, answer_seconds=0.01)) as bot:
            person = Person(slack, ByHttp(bot.url))
            person.types("why node-3", response_url=elsewhere.response_url("C1", "U1"))
            api.hold.set()
            counts = bot.program.slack.delivery.counts
            slack.wait(lambda: counts["foreign_response_url"])

        assert elsewhere.calls["response_url"] == 0


@pytest.mark.parametrize("changed", [{"team": "T0666"}, {"enterprise": "E0666", "team": "T0666"}])
def test_a_foreign_workspace_is_refused(person: Person, slack, api, changed: dict[str, str]):
    for name, value in changed.items():
        setattr(person, name, value)
    statuses = [
        person.types("why node-3").status,
        person.mentions("why node-3").status,
        person.opens_home().status,
        person.uses_shortcut("| NVIDIA-SMI |").status,
    ]

    assert statuses == [403] * 4
    assert nothing_went_out(slack, api)


def test_slacks_address_check_answers_the_challenge(bot: Running):
    body = json.dumps({"type": "url_verification", "challenge": "c123", "token": "x"})
    way = ByHttp(bot.url)
    reply = way.raw(body.encode(), {"content-type": "application/json", **way.signature(body)})

    assert (reply.status, reply.body["challenge"] if isinstance(reply.body, dict) else reply.body) == (
        200,
        "c123",
    )


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("https://hooks.slack.com/commands/T/1/x", True),
        ("https://hooks.slack.com:443/x", True),
        ("http://hooks.slack.com/x", False),
        ("https://hooks.slack.com:8443/x", False),
        ("https://hooks.slack.com.evil.example/x", False),
        ("https://evil.example/hooks.slack.com", False),
        ("https://hooks.slack.com@evil.example/x", False),
        ("https://user@hooks.slack.com/x", False),
        ("file:///etc/passwd", False),
        ("https://hooks.slack.com:x/", False),
        ("", False),
    ],
)
def test_only_slacks_own_host_gets_answers(url: str, ours: bool):
    assert is_slacks(url, "https://slack.com/api/") is ours
