"""Watching, muting, acknowledging from Slack: who may, what is kept, and what everybody sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bot.conftest import Running, firing
from tests.bot.recorded import RecordedApi
from tests.doubles.slack.people import ByHttp, Person
from tests.doubles.slack.server import Message, SlackDouble

ECC = "ecc-uncorrectable-new"


@pytest.fixture
def alert(person: Person, bot: Running, slack: SlackDouble, api: RecordedApi) -> Message:
    """A channel that watches, and the message of a finding that opened there."""
    person.types("watch all")
    slack.wait(lambda: bot.program.state.note("cursor"))
    api.opens("node-7")
    return firing(slack)


def test_watching_is_said_publicly_with_who(person: Person, slack: SlackDouble):
    person.types("watch node-3")

    assert "This channel now watches `node-3`" in slack.posts("C0001")[0].text
    assert "by <@U0001>" in slack.posts("C0001")[0].words


def test_a_watch_names_what_is_open_already(person: Person, slack: SlackDouble):
    person.types("watch all")

    assert (
        "Already open, and told only when it changes: `node-7`, `node-2`, `node-8`" in slack.posts()[0].words
    )


def test_a_watch_does_exactly_what_was_typed_is_listed_and_can_be_ended(person: Person):
    person.types("watch node-3")
    listed = person.asks("watch list").words
    person.types("watch off")
    after = person.asks("watch list").words

    assert "This channel watches `node-3`" in listed and "set by <@U0001>" in listed
    assert "This channel watches nothing" in after


def test_watching_an_unknown_node_is_refused_with_near_names(person: Person, bot: Running):
    answer = person.asks("watch nod-3")

    assert "There is no node `nod-3`" in answer.text
    assert bot.program.state.watches() == []


def test_a_watch_of_a_pid_watches_where_it_runs_and_says_so(person: Person, bot: Running, slack: SlackDouble):
    person.types("watch pid 4121")

    assert [watch.what for watch in bot.program.state.watches()] == ["node-3:0"]
    assert "You asked for pid 4121: it runs on node-3:0." in slack.posts("C0001")[0].words


def test_a_mute_by_a_pattern_keeps_its_nodes_quiet(
    person: Person, bot: Running, slack: SlackDouble, api: RecordedApi
):
    api.kept_mutes = [{"id": 1, "node": "node-7*", "rule": None, "until": "2099-01-01T00:00:00Z"}]
    person.types("watch all")
    slack.wait(lambda: bot.program.state.note("cursor"))
    api.opens("node-71")
    api.opens("node-2")
    told = slack.wait(lambda: [m.text for m in slack.posts() if "Firing" in m.text])

    assert [text.split("Critical")[0] for text in told] == ["Firing: Uncorrectable ECC errors on node-2 "]


def test_an_alert_is_posted_once_and_says_what_to_do(alert: Message, slack: SlackDouble):
    assert alert.text.startswith("Firing: Uncorrectable ECC errors on node-7")
    assert "Drain the node." in alert.words
    assert alert.labels == ["Why?", "Acknowledge", "Mute 1 h", "Runbook"]


def test_acknowledging_is_kept_by_the_api_said_in_the_thread_and_shown(
    alert: Message, person: Person, slack: SlackDouble, api: RecordedApi
):
    person.presses(alert, "Acknowledge")
    said = slack.wait(lambda: next((m for m in slack.posts() if m.thread_ts == alert.ts), None))
    slack.wait(lambda: alert.edits)

    assert "by <@U0001>" in said.words
    assert api.decided[0][0] == "ack" and api.decided[0][1]["by"] == "slack:T0001:U0001"
    assert alert.text.startswith("Acknowledged: Uncorrectable ECC errors")
    assert "acknowledged by <@U0001>" in alert.words
    assert "Acknowledge" not in alert.labels


def test_pressing_twice_decides_once(alert: Message, person: Person, slack: SlackDouble, api: RecordedApi):
    for _ in range(2):
        person.presses(alert, "Acknowledge")
    slack.wait(lambda: alert.edits)

    assert [kind for kind, _ in api.decided] == ["ack"]
    assert len([m for m in slack.posts() if m.thread_ts == alert.ts]) == 1


def test_muting_from_an_alert_is_kept_with_who_and_until(
    alert: Message, person: Person, slack: SlackDouble, api: RecordedApi
):
    confirm = alert.action("Mute 1 h")["confirm"]
    person.presses(alert, "Mute 1 h")
    said = slack.wait(lambda: next((m for m in slack.posts() if m.thread_ts == alert.ts), None))

    assert "for 1 hour" in confirm["text"]["text"]
    assert (
        "mute",
        {"node": "node-7", "rule": ECC, "seconds": 3600.0, "by": "slack:T0001:U0001", "why": ""},
    ) in api.decided
    assert "is muted until" in said.text


def test_why_from_an_alert_is_told_to_the_asker_alone(alert: Message, person: Person, slack: SlackDouble):
    person.presses(alert, "Why?")
    answer = slack.wait(lambda: next((m for m in slack.messages if m.only_for), None))

    assert (answer.only_for, alert.edits) == ("U0001", 0)


def test_an_alert_that_ends_is_edited_and_its_buttons_vanish(
    alert: Message, slack: SlackDouble, api: RecordedApi
):
    api.resolves("node-7", api.feed[0]["finding"]["id"])
    slack.wait(lambda: alert.edits)

    assert alert.text.startswith("Resolved: Uncorrectable ECC errors on node-7")
    assert alert.labels == ["Runbook"]


def test_a_decision_made_elsewhere_is_followed(alert: Message, slack: SlackDouble, api: RecordedApi):
    api.acknowledge(api.feed[0]["finding"]["id"], {"by": "mkim", "why": "on it"})
    slack.wait(lambda: alert.edits)

    assert "acknowledged by `mkim`" in alert.words


def test_a_mute_always_ends_and_within_seven_days(person: Person, api: RecordedApi):
    person.types("watch all")

    assert "How long?" in person.asks("mute node-3").text
    assert "How long?" in person.asks("mute node-3 30d").text
    assert api.decided == []


def test_a_mute_has_a_reason_is_listed_and_can_be_ended(person: Person, api: RecordedApi, slack: SlackDouble):
    person.types("watch all")
    person.types("mute node-3 2h replacing the fan")
    listed = person.asks("mute list").words
    person.types("mute off node-3")

    assert "replacing the fan" in listed
    assert [kind for kind, _ in api.decided] == ["mute", "unmute"]
    assert "no longer muted" in slack.posts()[-1].text


def test_only_listed_people_and_channels_may_decide(settings, slack: SlackDouble, api: RecordedApi):
    strict = replace(settings, allowed_users=frozenset({"U0009"}), allowed_channels=frozenset({"C0009"}))
    with Running(strict) as running:
        stranger = Person(slack, ByHttp(running.url))
        refused = [stranger.asks(text).text for text in ("watch all", "mute node-3 1h", "ack f-000000000001")]
        Person(slack, ByHttp(running.url), user="U0009").types("mute node-3 1h")
        Person(slack, ByHttp(running.url), channel="C0009").types("mute node-3 1h")

    assert all("You may not use" in text for text in refused)
    assert [kind for kind, _ in api.decided] == ["mute", "mute"]


def test_without_lists_only_channels_that_watch_may_mute(person: Person, api: RecordedApi):
    assert "You may not use `mute` here" in person.asks("mute node-3 1h").text
    assert api.decided == []


def test_a_channel_in_korean_gets_its_alerts_in_korean(
    person: Person, bot: Running, slack: SlackDouble, api: RecordedApi
):
    person.types("감시 전체")
    slack.wait(lambda: bot.program.state.note("cursor"))
    api.opens("node-7")

    assert slack.wait(lambda: next((m for m in slack.posts() if "발생" in m.text), None))


def test_slack_limiting_us_is_waited_for(person: Person, bot: Running, slack: SlackDouble, api: RecordedApi):
    person.types("watch all")
    slack.wait(lambda: bot.program.state.note("cursor"))
    slack.rate_limits("chat.postMessage", 1, retry_after=1)
    api.opens("node-7")
    firing(slack)

    assert slack.calls["chat.postMessage"] == 2


def test_a_channel_that_cannot_be_written_to_is_named_by_the_doctor(
    person: Person, bot: Running, slack: SlackDouble, api: RecordedApi
):
    person.types("watch all")
    slack.missing_channels.add("C0001")
    slack.wait(lambda: bot.program.state.note("cursor"))
    api.opens("node-7")
    slack.wait(lambda: bot.program.state.note("unwritable:C0001"))

    assert "channel C0001 cannot be written to (not_in_channel)" in person.asks("doctor").words


def test_a_second_worker_stands_by_and_one_message_is_posted(
    settings, person: Person, bot: Running, slack: SlackDouble, api: RecordedApi
):
    with Running(settings):
        person.types("watch all")
        slack.wait(lambda: bot.program.state.note("cursor"))
        api.opens("node-7")
        firing(slack)

    assert len([m for m in slack.posts() if "Firing" in m.text]) == 1
