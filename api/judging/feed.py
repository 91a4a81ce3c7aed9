"""What changed, on its way into the store: the feed, the episodes of findings, and the verdicts of nodes."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection

from api.judging.nodes import NodeState
from api.store import Store
from api.store.decisions import Maintenance, Mute
from gpudiag.changes import Changes, OpenFinding
from gpudiag.model import Finding


@dataclass(slots=True)
class Pending:
    """What has to be written after judging; in the order it happened."""

    episodes: dict[str, tuple[int, OpenFinding, float | None]] = field(default_factory=dict)
    feed: list[dict[str, Any]] = field(default_factory=list)
    verdicts: dict[int, tuple[NodeState, dict[str, Any]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.episodes or self.feed or self.verdicts)

    def write(self, store: Store, connection: Connection) -> None:
        store.lock_nodes(connection, {*self.verdicts, *(node_id for node_id, _, _ in self.episodes.values())})
        store.episodes.save_all(connection, self.episodes.values())
        store.episodes.tell(connection, self.feed)
        for state, verdict in self.verdicts.values():
            seen = state.window.received_at
            store.episodes.save_verdict(connection, state.id, verdict, state.changed_at, seen)
            state.version += 1
            state.stored = verdict


class Feed:
    """Collects what has to be written and told; knows what people asked not to be told."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self.lock = threading.RLock()
        self._pending = Pending()
        self.mutes: list[Mute] = []
        self.maintained: dict[int, Maintenance] = {}
        self.read_decisions()

    def read_decisions(self) -> None:
        """Take over mutes and maintenance as they are stored now."""
        now = self._clock()
        self.mutes = self._store.decisions.mutes(now)
        self.maintained = self._store.decisions.maintained(now)

    def quiet(self, state: NodeState, rule: str, now: float) -> str | None:
        """Whether people asked not to be told: `muted`, `maintenance` or None."""
        kept = self.maintained.get(state.id)
        if kept is not None and kept.until > now:
            return "maintenance"
        for mute in self.mutes:
            if mute.until > now and mute.rule in (None, rule) and fnmatch.fnmatchcase(state.name, mute.node):
                return "muted"
        return None

    # ---- what changed

    def tell(
        self, node_id: int, node: str, finding: Finding, what: str, now: float, quiet: str | None, source: str
    ) -> None:
        """Put one change into the feed; `quiet` says why nobody is to be told of it."""
        entry = {
            "at": now,
            "node_id": node_id,
            "node": node,
            "finding_id": finding.id,
            "what": what,
            "quiet": quiet,
            "source": source,
            "finding": msgspec.json.encode(finding),
        }
        with self.lock:
            self._pending.feed.append(entry)

    def keep(self, node_id: int, changes: Changes, now: float) -> None:
        """Have the episodes written that opened, changed or ended."""
        by_id = {known.finding.id: known for known in changes.open.values()}
        with self.lock:
            for finding in (*changes.opened, *changes.changed):
                if finding.id in by_id:
                    self._pending.episodes[str(finding.id)] = (node_id, by_id[finding.id], None)
            self.keep_clear_since(node_id, changes.turned)
            for finding in (*changes.resolved, *changes.gone):
                episode = OpenFinding(finding=finding, opened_at=finding.since or now, last_seen_at=now)
                self._pending.episodes[str(finding.id)] = (node_id, episode, now)

    def keep_clear_since(self, node_id: int, episodes: Iterable[OpenFinding]) -> None:
        """Have written since when findings are clear that stay open."""
        with self.lock:
            for episode in episodes:
                self._pending.episodes[str(episode.finding.id)] = (node_id, episode, None)

    def say(self, state: NodeState, verdicts: dict[str, Any]) -> None:
        """Have a node's verdicts written, as lists show them."""
        with self.lock:
            self._pending.verdicts[state.id] = (state, verdicts)

    # ---- its way

    def take(self) -> Pending:
        """What has to be written, which is then the caller's to write."""
        with self.lock:
            pending, self._pending = self._pending, Pending()
        return pending

    def put_back(self, pending: Pending) -> None:
        """It could not be written: it comes before what has come since."""
        with self.lock:
            newer = self._pending
            pending.episodes |= newer.episodes
            pending.feed += newer.feed
            pending.verdicts |= newer.verdicts
            self._pending = pending


def in_order(changes: Changes) -> list[tuple[str, Finding]]:
    """(what, finding) of everything that changed, as it is told."""
    kinds = ("opened", "changed", "resolved", "gone")
    return [(what, finding) for what in kinds for finding in getattr(changes, what)]
