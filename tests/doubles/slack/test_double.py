"""The stand-in itself: it refuses what Slack refuses, in Slack's words, and forgets what Slack forgets."""
# ruff: noqa: E501  (payloads as they stand on the wire)

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from tests.doubles.slack import judge
from tests.doubles.slack.server import SlackDouble

TEXT = {"type": "mrkdwn", "text": "x"}
PLAIN = {"type": "plain_text", "text": "x"}


def section(**more) -> dict:
    return {"type": "section", "text": TEXT, **more}


def actions(*elements) -> dict:
    return {"type": "actions", "elements": list(elements)}


def button(**more) -> dict:
    return {"type": "button", "action_id": "a", "text": PLAIN, **more}


BROKEN = {
    "text too long": ([section(text={"type": "mrkdwn", "text": "x" * 3001})],
                      "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
    "header with mrkdwn": ([{"type": "header", "text": TEXT}], "must be 'plain_text'"),
    "header too long": ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}],
                        "must be less than 151 characters"),
    "field too long": ([{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2001}]}],
                       "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]"),
    "eleven fields": ([{"type": "section", "fields": [TEXT] * 11}], "no more than 10 items allowed"),
    "no text at all": ([{"type": "section"}], "missing required field: text or fields"),
    "empty text": ([section(text={"type": "mrkdwn", "text": ""})], "must be more than 0 characters"),
    "eleven in a context": ([{"type": "context", "elements": [TEXT] * 11}], "no more than 10 items allowed"),
    "twenty-six buttons": ([actions(*(button(action_id=str(n)) for n in range(26)))], "no more than 25 items"),
    "button label too long": ([actions(button(text={"type": "plain_text", "text": "x" * 76}))],
                              "must be less than 76 characters"),
    "button label as mrkdwn": ([actions(button(text=TEXT))], "must be 'plain_text'"),
    "button value too long": ([actions(button(value="x" * 2001))], "must be less than 2001 characters"),
    "two buttons, one id": ([actions(button(), button())], "`action_id` must be unique"),
    "confirmation too long": ([actions(button(confirm={"title": PLAIN, "confirm": PLAIN, "deny": PLAIN,
                                                       "text": {"type": "plain_text", "text": "x" * 301}}))],
                              "must be less than 301 characters"),
    "menu without options": ([actions({"type": "static_select", "action_id": "s", "options": []})],
                             "missing required field: options"),
    "101 options": ([actions({"type": "static_select", "action_id": "s",
                              "options": [{"text": PLAIN, "value": str(n)} for n in range(101)]})],
                    "no more than 100 items allowed"),
    "unknown block": ([{"type": "paragraph"}], "unsupported type: paragraph"),
    "unknown property": ([section(colour="red")], "unexpected property: colour"),
    "101 rows": ([{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * 101}],
                 "no more than 100 items allowed"),
    "two tables": ([{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}] * 2, "only_one_table_allowed"),
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50 items allowed"),
    "block id twice": ([section(block_id="b")] * 2, "`block_id` must be unique"),
    "image without alt text": ([{"type": "image", "image_url": "https://x"}], "missing required field: alt_text"),
}  # fmt: skip


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackDouble]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with SlackDouble() as double:
        yield double


@pytest.fixture
def client(slack: SlackDouble) -> WebClient:
    return WebClient(token="xoxb-test", base_url=slack.api_url)


@pytest.mark.parametrize("name", BROKEN)
def test_what_slack_refuses_is_refused_in_its_words(name: str):
    blocks, said = BROKEN[name]

    assert any(said in fault for fault in judge.faults(blocks)), judge.faults(blocks)


def test_the_limits_are_slacks_own():
    text = (Path(judge.__file__).parent / "published" / "blocks.schema.json").read_text()

    assert json.loads(text)["source"].startswith("@slack/types@")
    assert sum(text.count(f'"{name}"') for name in ("maxLength", "maxItems", "textMaxLength")) >= 120


def test_a_message_is_posted_changed_and_not_found_when_it_is_not_there(
    client: WebClient, slack: SlackDouble
):
    posted = client.chat_postMessage(channel="C1", text="one")
    client.chat_update(channel="C1", ts=posted["ts"], text="two")
    with pytest.raises(SlackApiError) as caught:
        client.chat_update(channel="C1", ts="1.1", text="two")

    assert [m.text for m in slack.posts()] == ["two"]
    assert caught.value.response["error"] == "message_not_found"


def test_broken_blocks_are_refused_with_pointers(client: WebClient):
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(channel="C1", text="x", blocks=[{"type": "paragraph"}])

    assert caught.value.response["error"] == "invalid_blocks"
    assert caught.value.response["errors"] == ["unsupported type: paragraph [json-pointer:/blocks/0/type]"]


def test_a_response_url_takes_five_messages_for_half_an_hour(slack: SlackDouble):
    url = slack.response_url("C1", "U1")
    statuses = [WebhookClient(url).send(text="x").status_code for _ in range(6)]
    late = slack.response_url("C1", "U1")
    slack.pass_time(1801)

    assert statuses == [200] * 5 + [404]
    assert WebhookClient(late).send(text="x").body == "expired_url"


def test_a_trigger_opens_one_form_within_three_seconds(client: WebClient, slack: SlackDouble):
    view = {"type": "modal", "title": PLAIN, "blocks": [section()]}
    trigger, late = slack.trigger(), slack.trigger()
    client.views_open(trigger_id=trigger, view=view)
    errors = []
    slack.pass_time(4)
    for each in (trigger, late):
        with pytest.raises(SlackApiError) as caught:
            client.views_open(trigger_id=each, view=view)
        errors.append(caught.value.response["error"])

    assert errors == ["invalid_trigger_id", "expired_trigger_id"]


def test_too_many_requests_are_told_when_to_come_back(client: WebClient, slack: SlackDouble):
    slack.rate_limits("chat.postMessage", 1, retry_after=7)
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(channel="C1", text="x")

    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "7")


def test_tokens_and_scopes_are_looked_at(client: WebClient, slack: SlackDouble):
    slack.scopes = "commands"
    errors = []
    for one in (client, WebClient(token="xoxp-user", base_url=slack.api_url)):
        with pytest.raises(SlackApiError) as caught:
            one.chat_postMessage(channel="C1", text="x")
        errors.append(caught.value.response["error"])

    assert errors == ["missing_scope", "invalid_auth"]


def test_a_file_is_uploaded_in_three_steps(client: WebClient, slack: SlackDouble):
    client.files_upload_v2(channel="C1", thread_ts="1.1", file=b"\x89PNG", filename="a.png", title="a")

    assert [(f["channel"], f["thread_ts"], f["data"]) for f in slack.files] == [("C1", "1.1", b"\x89PNG")]


def test_very_long_text_is_cut_as_slack_cuts_it(client: WebClient, slack: SlackDouble):
    answer = client.chat_postMessage(channel="C1", text="x" * 40_001)

    assert "message_truncated" in answer["response_metadata"]["messages"][0]
    assert len(slack.posts()[0].text) == 40_000
