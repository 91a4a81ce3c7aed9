"""What the bot must not forget over a restart: cursor, message ids, watches, languages, seen event ids.

One small SQLite file shared by the bot's workers. Nothing in it is a diagnosis; those stay with the API.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.words import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger("gpudiag.bot")

TABLES = """
create table if not exists seen (key text primary key, until real not null);
create index if not exists seen_until on seen (until);
create table if not exists language (team text, subject text, lang text not null, until real,
    primary key (team, subject));
create table if not exists watch (team text, channel text, what text, user text not null, since real not null,
    lang text not null, primary key (team, channel, what));
create table if not exists note (key text primary key, value text not null);
create table if not exists episode (team text, channel text, key text, data text not null,
    primary key (team, channel, key));
"""


class StateUnusable(Mistake):
    """The bot's own file cannot be opened or written, or is something else."""


@dataclass(frozen=True)
class Watch:
    team: str
    channel: str
    what: str  # all, NODE or NODE:GPU
    user: str
    since: datetime
    lang: str


class State:
    """The bot's own file. Every method is one short transaction; safe over threads and processes."""

    def __init__(self, path: str | Path):
        self.path = str(path)
        self.lock = threading.RLock()
        self.seen_here: dict[str, float] = {}  # key → until when, where the file does not take it
        try:
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(
                self.path, check_same_thread=False, timeout=5, isolation_level=None
            )
            self.connection.execute("pragma journal_mode=wal")
            self.connection.execute("pragma synchronous=normal")
            self.connection.executescript(TABLES)
        except (OSError, sqlite3.Error) as error:
            raise StateUnusable("start.state", file=self.path, reason=error) from None

    def close(self) -> None:
        with self.lock:
            self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self.lock, self.errors_named():
            try:
                self.connection.execute("begin immediate")
                yield self.connection
                self.connection.execute("commit")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("rollback")
                raise

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StateUnusable("start.state", file=self.path, reason=error) from None

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.lock, self.errors_named():
            return self.connection.execute(query, values).fetchall()

    # Seen once: event ids, request signatures, clicks.

    def first_time(self, key: str, now: float, seconds: float) -> bool:
        """True once per key within `seconds`, over all workers; of this one alone where the file fails."""
        try:
            with self.transaction() as db:
                known = db.execute("select until from seen where key = ?", (key,)).fetchone()
                if known and known[0] > now:
                    return False
                db.execute("insert or replace into seen values (?, ?)", (key, now + seconds))
                db.execute("delete from seen where until < ?", (now,))
        except StateUnusable as error:
            log.error("%s", error)
            return self.first_time_here(key, now, seconds)
        return self.seen_here.get(key, 0.0) <= now

    def first_time_here(self, key: str, now: float, seconds: float) -> bool:
        """The same by memory alone."""
        with self.lock:
            self.seen_here = {known: until for known, until in self.seen_here.items() if until > now}
            new = key not in self.seen_here
            self.seen_here[key] = now + seconds
            return new

    # Languages: of a workspace (subject ""), a channel, or a person (cached for a day).

    def language(self, team: str, subject: str, now: float = 0.0) -> str | None:
        found = self.rows(
            "select lang from language where team = ? and subject = ? and (until is null or until > ?)",
            team, subject, now,
        )  # fmt: skip
        return str(found[0][0]) if found else None

    def set_language(self, team: str, subject: str, lang: str, until: float | None = None) -> None:
        with self.transaction() as db:
            db.execute("insert or replace into language values (?, ?, ?, ?)", (team, subject, lang, until))

    # Watches.

    def watches(self, team: str | None = None, channel: str | None = None) -> list[Watch]:
        found = self.rows("select team, channel, what, user, since, lang from watch order by since, what")
        every = [
            Watch(row[0], row[1], row[2], row[3], datetime.fromtimestamp(row[4], UTC), row[5])
            for row in found
        ]
        return [w for w in every if team in (None, w.team) and channel in (None, w.channel)]

    def watch(self, team: str, channel: str, what: str, user: str, now: datetime, lang: str) -> None:
        with self.transaction() as db:
            row = (team, channel, what, user, now.timestamp(), lang)
            db.execute("insert or replace into watch values (?, ?, ?, ?, ?, ?)", row)

    def unwatch(self, team: str, channel: str, what: str) -> None:
        with self.transaction() as db:
            db.execute("delete from watch where team = ? and channel = ? and what = ?", (team, channel, what))

    # Notes: single values such as the cursor of the findings, the workspace's id, or who holds a lease.

    def note(self, key: str) -> str | None:
        found = self.rows("select value from note where key = ?", key)
        return str(found[0][0]) if found else None

    def set_note(self, key: str, value: str) -> None:
        with self.transaction() as db:
            db.execute("insert or replace into note values (?, ?)", (key, value))

    def lease(self, name: str, holder: str, now: float, seconds: float) -> bool:
        """Whether `holder` has (or now takes) the lease `name`: one worker watches, the others stand by."""
        with self.transaction() as db:
            row = db.execute("select value from note where key = ?", (f"lease:{name}",)).fetchone()
            owner, until = json.loads(row[0]) if row else ("", 0.0)
            if owner != holder and until > now:
                return False
            value = json.dumps([holder, now + seconds])
            db.execute("insert or replace into note values (?, ?)", (f"lease:{name}", value))
            return True

    def release(self, name: str, holder: str) -> None:
        """Give the lease back, so that another worker need not wait for its end."""
        with self.transaction() as db:
            row = db.execute("select value from note where key = ?", (f"lease:{name}",)).fetchone()
            if row and json.loads(row[0])[0] == holder:
                db.execute("delete from note where key = ?", (f"lease:{name}",))

    # Episodes of the watching; `data` is watching's own JSON.

    def episodes(self) -> list[tuple[str, str, str, dict[str, Any]]]:
        found = self.rows("select team, channel, key, data from episode")
        return [(team, channel, key, json.loads(data)) for team, channel, key, data in found]

    def keep(
        self, episodes: list[tuple[str, str, str, dict[str, Any] | None]], cursor: str | None = None
    ) -> None:
        """Write changed episodes (None forgets one) and the cursor they were read up to, as one."""
        with self.transaction() as db:
            for team, channel, key, data in episodes:
                if data is None:
                    db.execute(
                        "delete from episode where team = ? and channel = ? and key = ?", (team, channel, key)
                    )
                else:
                    row = (team, channel, key, json.dumps(data))
                    db.execute("insert or replace into episode values (?, ?, ?, ?)", row)
            if cursor is not None:
                db.execute("insert or replace into note values ('cursor', ?)", (cursor,))
