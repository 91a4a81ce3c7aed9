"""Findings that last, the feed of what changed, and each node's verdict as lists show it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, and_, bindparam, insert, or_, select, text, update

from api.store.database import Database
from api.store.tables import changes, findings, nodes
from gpudiag.changes import Key, OpenFinding, key_of
from gpudiag.model import Finding

FEED_LOCK = 0x67707564  # PostgreSQL: one writer of the feed at a time, so that cursors grow with commits


class Change(NamedTuple):
    """One entry of the feed."""

    id: int
    at: float
    node: str
    finding_id: str
    what: str
    quiet: str | None
    source: str
    finding: Finding


class Episode(NamedTuple):
    """One finding from its opening to its end."""

    id: str
    node: str
    state: str
    opened_at: float
    ended_at: float | None
    episode: OpenFinding


class Span(NamedTuple):
    """From when to when a finding was open; `ended_at` is None while it is."""

    opened_at: float
    ended_at: float | None
    severity: str
    state: str
    packed: bytes

    @property
    def finding(self) -> Finding:
        return EPISODE.decode(self.packed).finding


EPISODE = msgspec.json.Decoder(OpenFinding)
FINDING = msgspec.json.Decoder(Finding)
_SAVE_VERDICT = (
    update(nodes)
    .where(nodes.c.id == bindparam("node"))
    .values(
        version=nodes.c.version + 1,
        verdict=bindparam("packed"),
        changed_at=bindparam("changed"),
        last_seen=bindparam("seen"),
    )
)


class Episodes:
    """Open and ended findings, and the feed."""

    def __init__(self, store: Database) -> None:
        self._store = store

    # ---- writing

    def save(
        self, connection: Connection, node_id: int, episode: OpenFinding, ended_at: float | None
    ) -> None:
        """Store one finding as it is now."""
        self.save_all(connection, [(node_id, episode, ended_at)])

    def save_all(
        self, connection: Connection, episodes: Iterable[tuple[int, OpenFinding, float | None]]
    ) -> None:
        """Store findings as they are now: (node id, finding, when it ended).

        By one statement, since after an outage something changes on every GPU of a fleet at once.
        """
        rows = [_row(*episode) for episode in episodes]
        if rows:
            connection.execute(self._saving, rows)

    @cached_property
    def _saving(self) -> Any:
        statement = self._store.upsert(findings)
        moved = {c.name: c for c in statement.excluded if c.name not in ("id", "node_id")}
        return statement.on_conflict_do_update(index_elements=["id"], set_=moved)

    def tell(self, connection: Connection, entries: Iterable[dict[str, Any]]) -> None:
        """Append to the feed."""
        rows = list(entries)
        if rows:
            if not self._store.embedded:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({FEED_LOCK})"))
            connection.execute(insert(changes), rows)

    def save_verdict(
        self,
        connection: Connection,
        node_id: int,
        verdict: dict[str, Any],
        changed_at: float | None,
        seen: float,
    ) -> None:
        packed = msgspec.json.encode(verdict)
        values = {"node": node_id, "packed": packed, "changed": changed_at, "seen": seen}
        connection.execute(_SAVE_VERDICT, [values])

    def touch(self, connection: Connection, node_id: int) -> None:
        """Say to other processes that a node's findings are not what they were."""
        statement = update(nodes).where(nodes.c.id == node_id)
        connection.execute(statement.values(version=nodes.c.version + 1))

    # ---- reading

    def open_of(self, node_id: int) -> dict[Key, OpenFinding]:
        """What is open on a node, by key."""
        statement = select(findings.c.episode)
        where = and_(findings.c.node_id == node_id, findings.c.ended_at.is_(None))
        with self._store.reading() as connection:
            rows = connection.execute(statement.where(where)).scalars().all()
        return {key_of(episode.finding): episode for episode in map(EPISODE.decode, rows)}

    def open_findings(self) -> dict[int, list[Finding]]:
        """What is open, by the node's id."""
        statement = select(findings.c.node_id, findings.c.episode).where(findings.c.ended_at.is_(None))
        with self._store.reading() as connection:
            rows = connection.execute(statement.order_by(findings.c.opened_at)).all()
        found: dict[int, list[Finding]] = {}
        for row in rows:
            found.setdefault(row.node_id, []).append(EPISODE.decode(row.episode).finding)
        return found

    def open_at(self, node_id: int, at: float) -> list[OpenFinding]:
        """What was open on a node at a moment in the past."""
        where = and_(
            findings.c.node_id == node_id,
            findings.c.opened_at <= at,
            or_(findings.c.ended_at.is_(None), findings.c.ended_at > at),
        )
        with self._store.reading() as connection:
            rows = connection.execute(select(findings.c.episode).where(where)).scalars().all()
        return [EPISODE.decode(row) for row in rows]

    def spans(self, node_id: int, since: float, most: int = 500) -> list[Span]:
        """The newest findings of a node that are open, or ended after `since`."""
        columns = (
            findings.c.opened_at,
            findings.c.ended_at,
            findings.c.severity,
            findings.c.state,
            findings.c.episode,
        )
        reaches = or_(findings.c.ended_at.is_(None), findings.c.ended_at > since)
        statement = select(*columns).where(and_(findings.c.node_id == node_id, reaches))
        with self._store.reading() as connection:
            rows = connection.execute(statement.order_by(findings.c.opened_at.desc()).limit(most)).all()
        return [Span(*row) for row in rows]

    def get(self, finding_id: str) -> Episode | None:
        columns = (findings.c.id, nodes.c.name, findings.c.state, findings.c.opened_at, findings.c.ended_at)
        statement = select(*columns, findings.c.episode).outerjoin(nodes, nodes.c.id == findings.c.node_id)
        with self._store.reading() as connection:
            row = connection.execute(statement.where(findings.c.id == finding_id)).one_or_none()
        if row is None:
            return None
        return Episode(row[0], row[1] or "fleet", *row[2:5], EPISODE.decode(row[5]))

    def feed(
        self,
        after: int,
        limit: int,
        node: str | None = None,
        finding_id: str | None = None,
        since: float | None = None,
    ) -> list[Change]:
        """Entries after a cursor, oldest first."""
        columns = [changes.c[name] for name in Change._fields]
        statement = select(*columns).where(changes.c.id > after).order_by(changes.c.id).limit(limit)
        if node is not None:
            statement = statement.where(changes.c.node == node)
        if finding_id is not None:
            statement = statement.where(changes.c.finding_id == finding_id)
        if since is not None:
            statement = statement.where(changes.c.at >= since)
        with self._store.reading() as connection:
            rows = connection.execute(statement).all()
        return [Change(*row)._replace(finding=FINDING.decode(row.finding)) for row in rows]

    def last_cursor(self) -> int:
        statement = select(changes.c.id).order_by(changes.c.id.desc()).limit(1)
        with self._store.reading() as connection:
            return connection.execute(statement).scalar() or 0


def _row(node_id: int, episode: OpenFinding, ended_at: float | None) -> dict[str, Any]:
    finding = episode.finding
    return {
        "id": finding.id,
        "node_id": node_id,
        "rule": finding.rule,
        "severity": finding.severity,
        "state": finding.state,
        "opened_at": episode.opened_at,
        "ended_at": ended_at,
        "episode": msgspec.json.encode(episode),
    }
