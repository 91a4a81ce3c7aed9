"""The loop around the watching: asks our API what changed, and hands due messages to Slack."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase

from bot.answers.alert import of_card
from bot.answers.asking import Asking
from bot.blocks import message
from bot.cards import LOUD, Change, change_of, words_of
from bot.delivery import Delivery, SlackAway, SlackRefused
from bot.questions import Json, Questions
from bot.settings import Settings
from bot.state import State
from bot.watching import Order, Watching
from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.bot.watching")

LEASE_SECONDS = 30.0
MOST_PAGES = 50
UNWRITABLE = {"channel_not_found", "is_archived", "not_in_channel", "restricted_action", "no_permission"}


class Watchman:
    """Runs in one worker at a time; the others stand by and take over when its lease ends."""

    def __init__(
        self,
        settings: Settings,
        api: Questions,
        state: State,
        delivery: Delivery,
        name: str,
        clock: Callable[[], float] = time.time,
    ):
        self.settings, self.api, self.state, self.delivery = settings, api, state, delivery
        self.name = name
        self.clock = clock
        self.watching: Watching | None = None
        self.muted: list[Json] = []
        self.stopped = threading.Event()
        self.woken = threading.Event()
        self.thread = threading.Thread(target=self.run, name="watching", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.woken.set()
        self.thread.join(timeout=15)
        if not self.thread.is_alive():
            self.state.release("watching", self.name)

    def wake(self) -> None:
        """Something was decided: look now, not in a while."""
        self.woken.set()

    def run(self) -> None:
        said = ""
        while not self.stopped.is_set():
            try:
                self.step()
                said = ""
            except GpudiagError as error:
                if str(error) != said:
                    log.error("watching waits: %s", error)
                said = str(error)
            except Exception:
                log.exception("watching failed; it goes on in %.0f s", self.settings.look_seconds)
            self.woken.wait(self.settings.look_seconds)
            self.woken.clear()

    def step(self) -> None:
        """One round: read what is new, send what is due."""
        now = self.clock()
        if not self.holds_the_lease():
            self.watching = None
            return
        if self.watching is None:  # the lease is new: what the other worker kept is read again
            self.watching = Watching(
                self.state,
                self.is_muted,
                settle_seconds=self.settings.settle_seconds,
                edit_seconds=self.settings.edit_seconds,
            )
        try:
            self.read(self.watching, now)
            self.watching.sighted()
        except GpudiagError as error:
            log.warning("%s", error)
            self.watching.blind(now)
        for order in self.watching.due(now):
            if self.stopped.is_set() or not self.holds_the_lease():
                return
            if not self.carry_out(order, self.watching):
                return  # Slack is away: each further message would wait as long again

    def holds_the_lease(self) -> bool:
        """Whether this worker watches; asked before every message, as Slack may be slow."""
        return self.state.lease("watching", self.name, self.clock(), LEASE_SECONDS)

    def read(self, watching: Watching, now: float) -> None:
        """Take in everything after the cursor. The very first time, the past is passed over in silence."""
        cursor = self.state.note("cursor")
        first = cursor is None
        for _ in range(MOST_PAGES):
            if not self.holds_the_lease():
                return
            page = self.api.findings(after=cursor, limit=500)
            items = page["items"]
            after = page.get("next") or (items[-1].get("cursor") if items else None)
            changes = [] if first else [self.completed(change_of(item, now)) for item in items]
            new = str(after) if after is not None else cursor or "0"
            watching.observe(changes, now, new if new != cursor else None)
            if not items or new == cursor:
                break
            cursor = new
        if watching.cards:
            self.muted = self.api.mutes()["items"]

    def completed(self, change: Change) -> Change:
        """The change with what the feed leaves out: who decided, and the words in each channel's language."""
        if change.state == "acknowledged" and not change.by:
            who, why = self.decision(change.finding)
            return replace(change, by=who, why=why)
        others = {watch.lang for watch in self.state.watches()} - {"en"}
        if change.state != "open" or change.severity not in LOUD or not change.finding:
            return change
        said = dict(change.said)
        for lang in others:
            found = self.api.finding(change.finding, lang=lang)
            inner = found.get("finding") if isinstance(found.get("finding"), dict) else found
            said[lang] = words_of(inner)  # type: ignore[arg-type]
        return replace(change, said=said)

    def decision(self, finding: str) -> tuple[str, str]:
        """Who acknowledged a finding, and why."""
        deeds = [
            deed for deed in self.api.finding(finding).get("decisions") or [] if deed.get("what") == "ack"
        ]
        return (str(deeds[-1].get("who") or ""), str(deeds[-1].get("why") or "")) if deeds else ("", "")

    def is_muted(self, node: str, rule: str) -> bool:
        """A mute may name nodes by a pattern, as `node-*`."""
        return any(
            fnmatchcase(node, str(item.get("node") or "*")) and item.get("rule") in (rule, "*", "", None)
            for item in self.muted
        )

    def carry_out(self, order: Order, watching: Watching) -> bool:
        """Post or edit one message. False when Slack gave no answer at all."""
        card = order.card
        asking = Asking(api=self.api, lang=card.lang, public_url=self.settings.link_url)
        said = message(of_card(card, asking, self.clock(), order.blind_since))
        try:
            if order.ts is None:
                ts = self.delivery.post(card.channel, said)
            else:
                self.delivery.edit(card.channel, order.ts, said)
                ts = order.ts
        except SlackAway as away:
            watching.failed(order, self.clock(), away.retry_after)
            return away.retry_after > 0
        except SlackRefused as refused:
            self.refused(order, refused, watching)
        else:
            watching.sent(order, ts, self.clock())
        return True

    def refused(self, order: Order, refused: SlackRefused, watching: Watching) -> None:
        if refused.code in ("message_not_found", "cant_update_message", "edit_window_closed"):
            watching.failed(order, self.clock(), gone=True)
        elif refused.code in UNWRITABLE:
            log.error("watching: channel %s cannot be written to (%s)", order.card.channel, refused.code)
            self.state.set_note(f"unwritable:{order.card.channel}", refused.code)
            watching.drop_channel(order.card.team, order.card.channel)
        else:
            watching.failed(order, self.clock(), 60.0)
