"""What people decide: acknowledgements, mutes, maintenance; and who did what, when and why."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from api.store.database import Database
from api.store.tables import audit, maintenance, mutes


class Mute(NamedTuple):
    """A node (or a shell pattern of names), or one rule on it, is kept quiet until `until`."""

    id: int
    node: str
    rule: str | None
    created_at: float
    until: float
    by: str
    why: str


class Maintenance(NamedTuple):
    """A node is expected to be disturbed until `until`."""

    node_id: int
    since: float
    until: float
    by: str
    why: str


class Deed(NamedTuple):
    """Who did what, when and why."""

    id: int
    at: float
    who: str
    what: str
    subject: str
    why: str


class Decisions:
    """Mutes, maintenance and the record of decisions."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def record(self, connection: Connection, at: float, who: str, what: str, subject: str, why: str) -> None:
        connection.execute(
            insert(audit).values(at=at, who=who[:255], what=what, subject=subject[:512], why=why)
        )

    def deeds(self, subject: str) -> list[Deed]:
        columns = [audit.c[name] for name in Deed._fields]
        statement = select(*columns).where(audit.c.subject == subject).order_by(audit.c.id)
        with self._store.reading() as connection:
            return [Deed(*row) for row in connection.execute(statement)]

    # ---- mutes

    def mute(
        self, connection: Connection, node: str, rule: str | None, now: float, until: float, by: str, why: str
    ) -> Mute:
        values = {"node": node, "rule": rule, "created_at": now, "until": until, "by": by, "why": why}
        made = connection.execute(insert(mutes).values(values))
        assert made.inserted_primary_key is not None
        return Mute(made.inserted_primary_key[0], node, rule, now, until, by, why)

    def mutes(self, now: float) -> list[Mute]:
        """Those that still hold."""
        columns = [mutes.c[name] for name in Mute._fields]
        with self._store.reading() as connection:
            rows = connection.execute(select(*columns).where(mutes.c.until > now).order_by(mutes.c.id))
            return [Mute(*row) for row in rows]

    def unmute(self, connection: Connection, mute_id: int, now: float) -> bool:
        where = (mutes.c.id == mute_id, mutes.c.until > now)
        return connection.execute(update(mutes).where(*where).values(until=now)).rowcount > 0

    # ---- maintenance

    def maintain(
        self, connection: Connection, node_id: int, now: float, until: float, by: str, why: str
    ) -> None:
        connection.execute(delete(maintenance).where(maintenance.c.node_id == node_id))
        if until > now:
            values = {"node_id": node_id, "since": now, "until": until, "by": by, "why": why}
            connection.execute(insert(maintenance).values(values))

    def maintained(self, now: float) -> dict[int, Maintenance]:
        columns = [maintenance.c[name] for name in Maintenance._fields]
        with self._store.reading() as connection:
            rows = connection.execute(select(*columns).where(maintenance.c.until > now))
            return {row.node_id: Maintenance(*row) for row in rows}
