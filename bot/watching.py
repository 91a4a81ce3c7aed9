"""From what opened and ended to messages in channels: one message per episode, edited as it goes.

Knows no chat system and reads no clock: `observe` takes changes, `due` says what to send now, `sent` and
`failed` say what became of it. A card is one message; it has one member (a rule on a node), or several that
began together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from bot.cards import LOUD, OPEN, Card, Change, Member, card_from
from bot.state import State, Watch

Json = dict[str, Any]

SETTLE_SECONDS = 5.0  # wait so long for others that begin together
EDIT_SECONDS = 10.0  # at most one update of a message in this time
FLAPPING_SECONDS = 60.0  # and less often where a finding comes and goes
AGAIN_SECONDS = 600.0  # reopened within this time: the same message says "again"
TOGETHER_SECONDS, TOGETHER = 60.0, 5  # more than five of one kind within a minute are one message
BLIND_SECONDS = 120.0  # our API away for so long: what is open is shown as not known
EDITS_PER_MINUTE = 40
SILENCE = "agent-stale"


@dataclass(frozen=True)
class Order:
    """Something to send now: a new message (ts None) or an edit."""

    card: Card
    ts: str | None
    blind_since: float | None


class Watching:
    """All cards of all channels. One at a time may run; the lease in the state sees to that."""

    def __init__(
        self,
        state: State,
        muted: Callable[[str, str], bool] = lambda node, rule: False,
        *,
        settle_seconds: float = SETTLE_SECONDS,
        edit_seconds: float = EDIT_SECONDS,
    ):
        self.state = state
        self.muted = muted
        self.settle_seconds, self.edit_seconds = settle_seconds, edit_seconds
        self.cards = [card_from(data) for _, _, _, data in state.episodes()]
        self.silent: dict[str, float] = {
            str(m.node): m.since for c in self.cards for m in c.members if m.rule == SILENCE and m.is_open
        }
        self.edits: deque[float] = deque(maxlen=EDITS_PER_MINUTE)
        self.waits: dict[tuple[str, str], float] = {}
        self.away_since: dict[tuple[str, str], float] = {}
        self.blind_since: float | None = None

    # What happened.

    def observe(self, changes: Iterable[Change], now: float, cursor: str | None = None) -> None:
        """Take changes in, in order, and keep them together with the cursor they reach up to."""
        touched: dict[int, Card] = {}
        for change in changes:
            for card in self.told_by(change, now):
                touched[id(card)] = card
        self.keep(touched.values(), cursor)

    def told_by(self, change: Change, now: float) -> list[Card]:
        """The cards that a change touches; new ones where a watch asks for it."""
        touched = self.silence(change) if change.rule == SILENCE else []
        for card in self.cards:
            for member in card.members:
                same = member.node == change.node and member.rule == change.rule
                if same and (change.finding in member.findings or self.lives(card, now)):
                    member.take(change)
                    touched.append(card)
        reached = {(card.team, card.channel) for card in touched if self.has(card, change)}
        if change.state == "open" and change.severity in LOUD and not change.quiet:
            for watch in self.state.watches():
                if covers(watch, change) and (watch.team, watch.channel) not in reached:
                    reached.add((watch.team, watch.channel))
                    touched.append(self.begin(watch, change, now))
        return touched

    def silence(self, change: Change) -> list[Card]:
        """A node that says nothing heals nothing: its open episodes become "no data"."""
        since = change.at if change.state in OPEN else None
        if since is None:
            self.silent.pop(change.node, None)
        else:
            self.silent[change.node] = since
        touched = []
        for card in self.cards:
            for member in card.members:
                if member.node == change.node and member.rule != SILENCE and member.is_open:
                    member.silent_since = since
                    touched.append(card)
        return touched

    def has(self, card: Card, change: Change) -> bool:
        return any(member.node == change.node and member.rule == change.rule for member in card.members)

    def lives(self, card: Card, now: float) -> bool:
        """Whether a card can still take its episode on: it is open, or ended a short while ago."""
        ended = [member.ended_at for member in card.members if not member.is_open]
        return bool(card.open_members) or any(at is not None and now - at < AGAIN_SECONDS for at in ended)

    def begin(self, watch: Watch, change: Change, now: float) -> Card:
        member = Member(
            node=change.node,
            rule=change.rule,
            severity=change.severity,
            since=change.at,
            confidence=change.confidence,
            runbook_url=change.runbook_url,
            silent_since=self.silent.get(change.node) if change.rule != SILENCE else None,
            simulated=change.simulated,
        )
        member.take(change)
        key = f"{change.node}|{change.rule}|{change.finding or change.at}"
        card = Card(watch.team, watch.channel, key, watch.lang, now, [member])
        self.cards.append(card)
        return card

    def blind(self, now: float) -> None:
        """Our own API does not answer."""
        self.blind_since = self.blind_since or now

    def sighted(self) -> None:
        self.blind_since = None

    # What to send.

    def due(self, now: float) -> list[Order]:
        """New messages first, then edits whose time has come."""
        self.tidy(now)
        blind = self.blind_since if self.blind_since and now - self.blind_since >= BLIND_SECONDS else None
        orders = [Order(card, None, None) for card in self.new_cards(now)]
        for card in self.cards:
            if card.ts is None or not self.may_send(card, now) or not self.edit_is_due(card, now, blind):
                continue
            self.edits.append(now)
            orders.append(Order(card, card.ts, blind))
        return orders

    def edit_is_due(self, card: Card, now: float, blind: float | None) -> bool:
        if card.fingerprint(blind) == card.shown:
            return False
        least = FLAPPING_SECONDS if any(m.flapping(now) for m in card.members) else self.edit_seconds
        budget = len(self.edits) < EDITS_PER_MINUTE or now - self.edits[0] >= 60.0
        return now - card.sent_at >= least and budget

    def may_send(self, card: Card, now: float) -> bool:
        return self.waits.get((card.team, card.channel), 0.0) <= now

    def new_cards(self, now: float) -> list[Card]:
        """Cards whose message is to be posted now, put together where they belong together."""
        ready: dict[tuple[str, str], list[Card]] = {}
        for card in self.cards:
            if card.ts is None and self.may_send(card, now) and now - card.created >= self.settle_seconds:
                ready.setdefault((card.team, card.channel), []).append(card)
        out: list[Card] = []
        for place, cards in ready.items():
            cards = self.worth_posting(cards, place)
            cards = self.one_rule_together(cards, now)
            waited = any(card.kind == "digest" for card in cards)
            out += self.all_together(cards) if waited or len(cards) > TOGETHER else cards
        return out

    def worth_posting(self, cards: list[Card], place: tuple[str, str]) -> list[Card]:
        """Without the muted, those that another finding accounts for, and blips nobody needs to hear of."""
        open_here = [m for c in self.cards if (c.team, c.channel) == place for m in c.open_members]
        kept = []
        for card in cards:
            blip = not card.open_members and not card.tries
            first = card.members[0]
            explained = any(first.node == m.node and first.rule in m.explains for m in open_here)
            muted = all(self.muted(member.node, member.rule) for member in card.members)
            if blip or (explained and card.kind == "one"):
                self.forget(card)
            elif not muted:
                kept.append(card)
        return kept

    def one_rule_together(self, cards: list[Card], now: float) -> list[Card]:
        """More than five nodes with one rule within a minute are one message; latecomers join it."""
        out = [card for card in cards if card.kind == "digest"]
        cards = [card for card in cards if card.kind != "digest"]
        for rule in dict.fromkeys(card.members[0].rule for card in cards):
            mine = [card for card in cards if card.members[0].rule == rule]
            place = (mine[0].team, mine[0].channel)
            running = next((c for c in self.cards if (c.team, c.channel) == place and c.kind == "many"
                            and c.ts and c.members[0].rule == rule and c.open_members), None)  # fmt: skip
            if running:
                self.merge(running, mine)
            elif len(mine) + self.recent(place, rule, now) > TOGETHER and len(mine) > 1:
                self.merge(mine[0], mine[1:], "many")
                out.append(mine[0])
            else:
                out += mine
        return out

    def recent(self, place: tuple[str, str], rule: str, now: float) -> int:
        return sum(
            1
            for card in self.cards
            if (card.team, card.channel) == place and card.ts and card.members[0].rule == rule
            and now - card.created < TOGETHER_SECONDS
        )  # fmt: skip

    def all_together(self, cards: list[Card]) -> list[Card]:
        """One message for all that is waiting, such as after an hour without Slack."""
        into = next((card for card in cards if card.kind == "digest"), cards[0])
        self.merge(into, [card for card in cards if card is not into], "digest")
        return [into]

    def merge(self, into: Card, others: list[Card], kind: str = "") -> None:
        into.kind = kind or into.kind
        for other in others:
            into.members += other.members
            into.tries = max(into.tries, other.tries)
            self.forget(other)
        self.keep([into])

    # What became of it.

    def sent(self, order: Order, ts: str, now: float) -> None:
        card = order.card
        card.ts, card.sent_at, card.shown = ts, now, card.fingerprint(order.blind_since)
        card.tries = 0
        self.away_since.pop((card.team, card.channel), None)
        self.keep([card])

    def failed(self, order: Order, now: float, retry_after: float = 0.0, gone: bool = False) -> None:
        """Slack was away or busy (try again later), or the message is no more (post it anew)."""
        card, place = order.card, (order.card.team, order.card.channel)
        if gone:
            card.ts = None
        else:
            card.tries += 1
            self.away_since.setdefault(place, now)
            self.waits[place] = now + max(retry_after, min(60.0, 2.0 ** min(card.tries, 6)))
        self.keep([card])

    def drop_channel(self, team: str, channel: str) -> None:
        """The channel cannot be written to: forget its cards. The watch stays, for the doctor to name."""
        for card in [c for c in self.cards if (c.team, c.channel) == (team, channel)]:
            self.forget(card)

    def tidy(self, now: float) -> None:
        """Forget messages that say "resolved" and will not be needed again."""
        for card in list(self.cards):
            said = card.ts is not None and card.shown == card.fingerprint(None)
            if said and not card.open_members and not self.lives(card, now):
                self.forget(card)

    def forget(self, card: Card) -> None:
        if card in self.cards:
            self.cards.remove(card)
        self.state.keep([(card.team, card.channel, card.key, None)])

    def keep(self, cards: Iterable[Card], cursor: str | None = None) -> None:
        rows: list[tuple[str, str, str, Json | None]] = [
            (c.team, c.channel, c.key, asdict(c)) for c in cards if c in self.cards
        ]
        self.state.keep(rows, cursor)


def covers(watch: Watch, change: Change) -> bool:
    name, _, gpu = watch.what.partition(":")
    if watch.what == "all":
        return True
    return name == change.node and (not gpu or change.gpu is None or str(change.gpu) == gpu)
