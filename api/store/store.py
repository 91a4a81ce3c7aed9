"""`Store`: an opened store with its four shelves, for one process or several, and kept small."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from sqlalchemy import Connection, delete, text
from sqlalchemy.exc import SQLAlchemyError

from api.store import tables
from api.store.database import Database
from api.store.decisions import Decisions
from api.store.engine import hold
from api.store.episodes import Episodes
from api.store.snapshots import Snapshots
from api.store.tokens import Tokens

NODE_LOCK, LEAD_LOCK = 0x6770, 0x67706C64  # PostgreSQL advisory locks
OLD_ROWS = (("changes", "at", "id"), ("audit", "at", "id"), ("findings", "ended_at", "ended_at"))
"""Tables, their columns with a moment, and the order in which rows go: one that has an index."""

BATCH_ROWS, MOST_ROWS = 50, 1_000
BATCH_SECONDS = 0.01  # a batch that takes longer is halved: so long reports wait for it
GIVE_BACK_SECONDS = 0.005  # a report waits so long
EMPTY_LOG_SECONDS = 0.2  # else the log fills, and a commit empties it while everybody waits


class Store(Database):
    """What is remembered, on four shelves."""

    def __init__(self, url: str, *, alone: bool = False) -> None:
        """`alone`: as a server, which an SQLite file can have only one of."""
        self._held = hold(url) if alone else None
        self._leading: Connection | None = None
        self._leads = False
        self._asking = threading.Lock()
        try:
            super().__init__(url)
        except BaseException:
            self._release()
            raise
        self.snapshots = Snapshots(self)
        self.episodes = Episodes(self)
        self.decisions = Decisions(self)
        self.tokens = Tokens(self, self.decisions)

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    # ---- several processes on one server

    def lock_nodes(self, connection: Connection, ids: Iterable[int]) -> None:
        """Hold these nodes until the transaction ends; in order, so that two never wait for each other.

        Whoever writes rows of several nodes, or several tables of one, holds them first.
        """
        if self.embedded:
            return  # one transaction writes at a time
        for node_id in sorted(ids):
            connection.execute(text("SELECT pg_advisory_xact_lock(:space, :node)"),
                               {"space": NODE_LOCK, "node": node_id % (1 << 31)})  # fmt: skip

    def try_to_lead(self) -> bool:
        """Whether this process is the one of several that works by the clock, as long as it lives."""
        with self._asking:  # the ticker and the keeper have one connection for it
            try:
                if self._leading is None:
                    self._leading = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                    self._leads = False
                if not self._leads:
                    lock = text(f"SELECT pg_try_advisory_lock({LEAD_LOCK})")
                    self._leads = bool(self._leading.execute(lock).scalar())
                else:
                    self._leading.exec_driver_sql("SELECT 1")  # the lock ends with the connection
            except SQLAlchemyError:
                self._drop_lead()
            return self._leads

    def _drop_lead(self) -> None:
        if self._leading is not None:
            self._leading.invalidate()
            self._leading.close()
        self._leading, self._leads = None, False

    def close(self) -> None:
        self._drop_lead()
        super().close()
        self._release()

    # ---- keeping it small

    def keep_since(
        self, oldest: float, pause: float = 0.02, empty_log: Callable[[], object] | None = None
    ) -> int:
        """Delete what is older than `oldest`, in small batches; returns how many snapshots went.

        `empty_log` is called now and then: each page that is deleted from stands in SQLite's log.
        """
        rest = _Rest(pause, empty_log or self.checkpoint)
        gone = self._in_batches(
            "DELETE FROM snapshots WHERE id IN (SELECT id FROM snapshots WHERE received_at < :oldest"
            " AND id <= :last ORDER BY id LIMIT :rows)",
            oldest,
            rest,
        )
        for table, column, order in OLD_ROWS:
            self._in_batches(
                f"DELETE FROM {table} WHERE id IN"
                f" (SELECT id FROM {table} WHERE {column} < :oldest ORDER BY {order} LIMIT :rows)",
                oldest,
                rest,
            )
        with self.writing() as connection:
            connection.execute(delete(tables.mutes).where(tables.mutes.c.until < oldest))
        self._give_back(rest)
        return gone

    def _in_batches(self, statement: str, oldest: float, rest: Callable[[], None]) -> int:
        rows, gone = BATCH_ROWS, 0
        values: dict[str, float] = {"oldest": oldest}
        if ":last" in statement:
            last = self.snapshots.last_id_received_before(oldest)
            if last is None:
                return 0
            values["last"] = last
        while True:
            with self.writing() as connection:
                started = time.monotonic()  # whoever writes just now was waited for
                count = connection.execute(text(statement), {**values, "rows": rows}).rowcount
            spent = time.monotonic() - started
            gone += count
            if count < rows:
                return gone
            rows = max(10, rows // 2) if spent > BATCH_SECONDS else min(MOST_ROWS, rows + rows // 8)
            rest()

    def _give_back(self, rest: Callable[[], None]) -> None:
        """Return free pages to the file system, as many at a time as hold up a report next to nothing."""
        if not self.embedded:
            return
        pages = 8
        while True:
            with self.reading() as connection:
                free = connection.exec_driver_sql("PRAGMA freelist_count").scalar() or 0
                if free < 256:
                    return
                # One step of this pragma frees one page: only a script runs it to its end.
                raw = connection.connection.driver_connection
                assert raw is not None
                connection.rollback()
                with self._pen:  # else who writes meets SQLite's lock, and sleeps until it looks again
                    started = time.monotonic()
                    raw.executescript(f"PRAGMA incremental_vacuum({pages})")
                    spent = time.monotonic() - started
            pages = max(2, pages // 2) if spent > GIVE_BACK_SECONDS else min(128, pages + 2)
            rest()


class _Rest:
    """A pause between two batches, in which others write."""

    def __init__(self, seconds: float, empty_log: Callable[[], object]) -> None:
        self._seconds, self._empty_log = seconds, empty_log
        self._emptied_at = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._emptied_at > EMPTY_LOG_SECONDS:
            self._empty_log()
            self._emptied_at = time.monotonic()
        time.sleep(self._seconds)
