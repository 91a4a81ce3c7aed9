"""Watching: one message per episode, edited as it goes; told in scaled time, without a chat system."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cards import Change
from bot.state import State
from bot.watching import Order, Watching

ECC, STALE = "ecc-uncorrectable-new", "agent-stale"


class Channel:
    """A channel that watches, and what stands in it: message id → the state it shows."""

    def __init__(self, path: Path, what: str = "all"):
        self.path = path
        self.state = State(path)
        self.watching = Watching(self.state, lambda node, rule: (node, rule) in self.muted)
        self.muted: set[tuple[str, str]] = set()
        self.now = 1_795_967_000.0
        self.posted: dict[str, Order] = {}
        self.edited: list[str] = []
        self.cut = False
        self.watch(what)

    def watch(self, what: str) -> None:
        self.state.watch("T1", "C1", what, "U1", datetime.fromtimestamp(self.now, UTC), "en")

    def happens(self, node: str, state: str, rule: str = ECC, finding: str = "", **more) -> None:
        change = Change(
            at=self.now, node=node, rule=rule, state=state, finding=finding or f"f-{node}-{rule}",
            said={"en": [rule, ""]}, **more,
        )  # fmt: skip
        self.watching.observe([change], self.now)

    def passes(self, seconds: float, step: float = 2.0) -> None:
        """Time goes by; what is due is sent, unless Slack is cut off."""
        end = self.now + seconds
        while self.now < end:
            self.now += step
            for order in self.watching.due(self.now):
                self.carry_out(order)

    def carry_out(self, order: Order) -> None:
        if self.cut:
            self.watching.failed(order, self.now)
            return
        ts = order.ts or f"{len(self.posted) + 1}"
        if order.ts is None:
            self.posted[ts] = order
        else:
            self.edited.append(ts)
        self.watching.sent(order, ts, self.now)

    def restarts(self) -> None:
        """The process ends and another begins; only what was kept is known."""
        self.state.close()
        self.state = State(self.path)
        self.watching = Watching(self.state, lambda node, rule: (node, rule) in self.muted)

    def shows(self) -> dict[str, list[str]]:
        """Every message that is still remembered: its members' states."""
        return {card.ts: [member.state for member in card.members] for card in self.watching.cards if card.ts}


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    made = Channel(tmp_path / "bot.sqlite3")
    yield made
    made.state.close()


def test_one_message_goes_from_firing_over_acknowledged_to_resolved(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(20)
    channel.happens("node-7", "acknowledged", by="slack:T1:U1")
    channel.passes(20)
    channel.happens("node-7", "resolved")
    channel.passes(20)

    assert (len(channel.posted), channel.edited) == (1, ["1", "1"])
    assert channel.shows() == {"1": ["resolved"]}


def test_several_gpus_with_one_rule_are_one_message(channel: Channel):
    for gpu in range(4):
        channel.happens("node-7", "open", finding=f"f-{gpu}", gpu=gpu)
    channel.passes(20)
    channel.happens("node-7", "resolved", finding="f-0", gpu=0)
    channel.passes(20)

    assert len(channel.posted) == 1
    assert channel.shows() == {"1": ["firing"]}


def test_only_watched_nodes_and_loud_findings_are_told(tmp_path: Path):
    channel = Channel(tmp_path / "bot.sqlite3", what="node-1")
    channel.happens("node-2", "open")
    channel.happens("node-1", "open", rule="healthy-busy", severity="ok")
    channel.happens("node-1", "open", rule="power-capped", severity="info")
    channel.passes(30)
    channel.state.close()

    assert channel.posted == {}


def test_a_watch_of_one_gpu_hears_only_of_it(tmp_path: Path):
    channel = Channel(tmp_path / "bot.sqlite3", what="node-1:2")
    channel.happens("node-1", "open", finding="f-a", gpu=1)
    channel.passes(30)
    channel.happens("node-1", "open", finding="f-b", gpu=2, rule="xid-hardware")
    channel.passes(30)
    channel.state.close()

    assert len(channel.posted) == 1


def test_a_message_is_edited_at_most_every_ten_seconds(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(10)
    for turn in range(30):
        channel.happens("node-7", "open", severity=("warning", "critical")[turn % 2])
        channel.passes(2)

    assert len(channel.edited) <= 6


def test_reopened_soon_it_is_the_same_message_again(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.happens("node-7", "resolved")
    channel.passes(120)
    channel.happens("node-7", "open", finding="f-second")
    channel.passes(30)

    assert len(channel.posted) == 1
    assert channel.shows() == {"1": ["firing"]}
    assert len(channel.watching.cards[0].members[0].opened_times) == 2


def test_reopened_later_it_is_a_new_message(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.happens("node-7", "resolved")
    channel.passes(900)
    channel.happens("node-7", "open", finding="f-second")
    channel.passes(30)

    assert len(channel.posted) == 2


def test_an_end_that_slack_has_not_heard_of_yet_is_no_place_for_what_opens_later(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.cut = True
    channel.happens("node-7", "resolved")
    channel.passes(900)
    channel.happens("node-7", "open", finding="f-second")
    channel.cut = False
    channel.passes(300)

    assert channel.shows() == {"2": ["firing"]}
    assert channel.edited == ["1"]


def test_what_comes_and_goes_is_damped_and_said(channel: Channel):
    for turn in range(10):
        channel.happens("node-7", "open", finding=f"f-{turn}")
        channel.passes(20)
        channel.happens("node-7", "resolved", finding=f"f-{turn}")
        channel.passes(20)

    assert len(channel.posted) == 1
    assert len(channel.edited) <= 10
    assert channel.watching.cards[0].members[0].flapping(channel.now) == 10


def test_a_blip_before_anything_was_posted_is_not_told(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(2)
    channel.happens("node-7", "resolved")
    channel.passes(60)

    assert channel.posted == {}


def test_many_nodes_with_one_cause_are_one_message(channel: Channel):
    for number in range(40):
        channel.happens(f"node-{number}", "open", rule=STALE)
    channel.passes(30)

    assert [len(order.card.members) for order in channel.posted.values()] == [40]


def test_latecomers_join_the_message_of_their_cause(channel: Channel):
    for number in range(7):
        channel.happens(f"node-{number}", "open", rule=STALE)
    channel.passes(30)
    channel.happens("node-9", "open", rule=STALE)
    channel.passes(30)

    assert [len(order.card.members) for order in channel.posted.values()] == [8]
    assert channel.edited == ["1"]


def test_a_group_says_which_members_have_ended(channel: Channel):
    for number in range(7):
        channel.happens(f"node-{number}", "open", rule=STALE)
    channel.passes(30)
    channel.happens("node-3", "resolved", rule=STALE)
    channel.passes(30)

    assert channel.shows() == {"1": ["firing"] * 3 + ["resolved"] + ["firing"] * 3}


def test_what_another_finding_accounts_for_gets_no_message_of_its_own(channel: Channel):
    channel.happens("node-7", "open", rule="gpu-lost-bus", explains=("xid-hardware",))
    channel.happens("node-7", "open", rule="xid-hardware")
    channel.passes(30)

    assert [order.card.members[0].rule for order in channel.posted.values()] == ["gpu-lost-bus"]


def test_silence_is_no_data_and_never_resolved(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.happens("node-7", "open", rule=STALE)
    channel.passes(30)
    member = channel.watching.cards[0].members[0]
    silent = (member.state, member.silent_since is not None)
    channel.happens("node-7", "resolved", rule=STALE)
    channel.passes(30)

    assert silent == ("firing", True)
    assert (member.state, member.silent_since) == ("firing", None)


def test_our_api_away_shows_open_findings_as_not_known(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.watching.blind(channel.now)
    channel.passes(200)
    blind_edits = len(channel.edited)
    channel.watching.sighted()
    channel.passes(30)

    assert (blind_edits, len(channel.edited)) == (1, 2)
    assert channel.shows() == {"1": ["firing"]}


def test_slack_away_for_an_hour_loses_nothing_and_floods_nobody(channel: Channel):
    channel.happens("node-1", "open")
    channel.passes(30)
    channel.cut = True
    channel.happens("node-1", "resolved")
    for number in range(2, 32):
        channel.happens(f"node-{number}", "open", rule=f"rule-{number % 10}")
        channel.passes(60, step=20)
    for number in range(2, 20):
        channel.happens(f"node-{number}", "resolved", rule=f"rule-{number % 10}")
    channel.passes(1800, step=30)
    channel.cut = False
    channel.passes(120)

    members = [m for order in list(channel.posted.values())[1:] for m in order.card.members]
    assert len(channel.posted) <= 3
    assert {m.node for m in members} == {f"node-{number}" for number in range(2, 32)}
    assert sum(m.is_open for m in members) == 12
    assert channel.edited.count("1") == 1


def test_slack_being_busy_is_respected(channel: Channel):
    channel.happens("node-7", "open")
    channel.now += 10
    order = channel.watching.due(channel.now)[0]
    channel.watching.failed(order, channel.now, retry_after=45.0)
    channel.passes(40)
    during = len(channel.posted)
    channel.passes(10)

    assert (during, len(channel.posted)) == (0, 1)


def test_cursor_and_message_ids_survive_a_restart(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.restarts()
    channel.happens("node-7", "resolved")
    channel.passes(30)

    assert (len(channel.posted), channel.edited) == (1, ["1"])
    assert channel.shows() == {"1": ["resolved"]}


def test_a_restart_before_the_message_was_posted_loses_nothing(channel: Channel):
    channel.happens("node-7", "open")
    channel.restarts()
    channel.passes(30)

    assert len(channel.posted) == 1


def test_a_deleted_message_is_posted_anew(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.happens("node-7", "acknowledged")
    channel.now += 20
    channel.watching.failed(channel.watching.due(channel.now)[0], channel.now, gone=True)
    channel.passes(30)

    assert len(channel.posted) == 2


def test_muted_episodes_are_not_posted_until_the_mute_ends(channel: Channel):
    channel.muted.add(("node-7", ECC))
    channel.happens("node-7", "open")
    channel.passes(60)
    while_muted = len(channel.posted)
    channel.muted.clear()
    channel.passes(30)

    assert (while_muted, len(channel.posted)) == (0, 1)


def test_what_the_api_calls_quiet_is_not_told(channel: Channel):
    channel.happens("node-7", "open", quiet="maintenance")
    channel.passes(60)

    assert channel.posted == {}


def test_resolved_messages_are_forgotten_in_the_end(channel: Channel):
    channel.happens("node-7", "open")
    channel.passes(30)
    channel.happens("node-7", "resolved")
    channel.passes(1200)

    assert (channel.watching.cards, channel.state.episodes()) == ([], [])


def test_the_workspace_is_not_edited_more_than_forty_times_a_minute(channel: Channel):
    for number in range(120):
        channel.happens(f"node-{number}", "open", rule=f"rule-{number}")
        channel.passes(6, step=6)
    channel.edited.clear()
    for number in range(120):
        channel.happens(f"node-{number}", "resolved", rule=f"rule-{number}")
    channel.passes(60)

    assert len(channel.edited) <= 41
    assert len(channel.posted) == 120
