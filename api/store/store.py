"""`Store`: an opened store with its four shelves, and transactions whose errors have names."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, text
from sqlalchemy.exc import SQLAlchemyError

from api.store import outside, tables
from api.store.decisions import Decisions
from api.store.engine import (
    MOST_LOG_BYTES,
    StoreCorrupt,
    file_of,
    hold,
    named_errors,
    open_engine,
    set_aside,
)
from api.store.episodes import Episodes
from api.store.snapshots import Snapshots
from api.store.tokens import Tokens
from api.words import Sentence

NODE_LOCK, LEAD_LOCK = 0x6770, 0x67706C64  # PostgreSQL advisory locks
BATCH_ROWS = 200
BATCH_SECONDS = 0.05  # a batch that takes longer is halved: writers wait no longer than 100 ms


class Store:
    """What is remembered. Reads may come from any thread; writes take turns."""

    def __init__(self, url: str, *, alone: bool = False) -> None:
        """`alone`: as a server, which an SQLite file can have only one of."""
        self.url = url
        self._held = hold(url) if alone else None
        self.damaged: Path | None = None
        self._leading: Connection | None = None
        self._leads = False
        self._asking = threading.Lock()
        self.kept_log = outside.KeptLog(MOST_LOG_BYTES)
        self._pen = threading.Lock()
        self._writer: Connection | None = None  # of SQLite, which lets one write at a time
        try:
            self.engine = self._open()
        except BaseException:
            self._release()
            raise
        self._shelves()

    def _open(self) -> Engine:
        try:
            return self._opened()
        except StoreCorrupt:
            self.damaged = set_aside(self.url)
            if self.damaged is None:
                raise
            return self._opened()

    def _opened(self) -> Engine:
        engine, file = open_engine(self.url), file_of(self.url)
        self._inode = _inode(file) if file is not None else None
        return engine

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _shelves(self) -> None:
        self.snapshots = Snapshots(self)
        self.episodes = Episodes(self)
        self.decisions = Decisions(self)
        self.tokens = Tokens(self)

    @property
    def embedded(self) -> bool:
        """SQLite: this process is the only one that serves it."""
        return self.engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path | None:
        return file_of(self.engine.url)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with named_errors(self.engine), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: committed at the end, undone when anything fails."""
        if not self.embedded:
            with named_errors(self.engine), self.engine.connect() as connection, connection.begin():
                yield connection
            return
        with self._pen, named_errors(self.engine):
            try:
                if self._writer is None:
                    self._writer = self.engine.connect().execution_options(writes=True)
                with self._writer.begin():
                    yield self._writer
            except (SQLAlchemyError, sqlite3.Error):
                self._drop_writer()
                raise

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._writer.close()
        self._writer = None

    # ---- several processes on one server

    def lock_nodes(self, connection: Connection, ids: Iterable[int]) -> None:
        """Hold these nodes until the transaction ends; in order, so that two never wait for each other."""
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

    def start_afresh(self) -> Path | None:
        """Set a damaged file aside and go on with an empty one; returns where the old one lies."""
        self._drop_writer()
        self.engine.dispose()
        self.damaged = set_aside(self.url)
        self.engine = self._opened()
        return self.damaged

    def close(self) -> None:
        self._drop_lead()
        self._drop_writer()
        self.engine.dispose()
        self._release()

    # ---- keeping it small

    def checkpoint(self) -> Sentence | None:
        """Move what was committed from SQLite's log into the file, beside those who read and write.

        Returns what there is to say of a log that somebody keeps, who still reads what was there before.
        """
        file = self.file
        if file is None or not self.embedded:
            return None
        with named_errors(self.engine), contextlib.closing(self.engine.raw_connection()) as raw:
            cursor = raw.cursor()
            _, pages, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            (page_bytes,) = cursor.execute("PRAGMA page_size").fetchone()
        return self.kept_log.note(file, (pages - moved) * page_bytes)

    def look(self) -> None:
        """Read a little of the file past every cache; raises StoreCorrupt when another program spoilt it."""
        file = self.file
        if file is None or not self.embedded:
            return
        if self._inode != _inode(file):
            raise StoreCorrupt("store.replaced", where=file)
        with named_errors(self.engine):
            wrong = outside.look(file)
        if wrong is not None:
            raise StoreCorrupt("store.damaged", where=file, reason=wrong)

    def keep_since(self, oldest: float, pause: float = 0.02) -> int:
        """Delete what is older than `oldest`, in small batches; returns how many snapshots went."""
        gone = self._in_batches(
            "DELETE FROM snapshots WHERE id IN (SELECT id FROM snapshots WHERE received_at < :oldest"
            " AND id <= :last ORDER BY id LIMIT :rows)",
            oldest,
            pause,
        )
        for table, column in ((tables.changes, "at"), (tables.audit, "at")):
            self._in_batches(
                f"DELETE FROM {table.name} WHERE id IN"
                f" (SELECT id FROM {table.name} WHERE {column} < :oldest ORDER BY id LIMIT :rows)",
                oldest,
                pause,
            )
        with self.writing() as connection:
            connection.execute(delete(tables.findings).where(tables.findings.c.ended_at < oldest))
            connection.execute(delete(tables.mutes).where(tables.mutes.c.until < oldest))
        self._give_back(pause)
        return gone

    def _in_batches(self, statement: str, oldest: float, pause: float) -> int:
        rows, gone = BATCH_ROWS, 0
        values: dict[str, float] = {"oldest": oldest}
        if ":last" in statement:
            last = self.snapshots.last_id_received_before(oldest)
            if last is None:
                return 0
            values["last"] = last
        while True:
            started = time.monotonic()
            with self.writing() as connection:
                count = connection.execute(text(statement), {**values, "rows": rows}).rowcount
            gone += count
            if count < rows:
                return gone
            spent = time.monotonic() - started
            rows = max(10, rows // 2) if spent > BATCH_SECONDS else min(2_000, rows + rows // 4)
            time.sleep(pause)

    def _give_back(self, pause: float) -> None:
        """Return free pages to the file system, some at a time."""
        if not self.embedded:
            return
        while True:
            with self.reading() as connection:
                free = connection.exec_driver_sql("PRAGMA freelist_count").scalar() or 0
                if free < 256:
                    return
                # One step of this pragma frees one page: only a script runs it to its end.
                raw = connection.connection.driver_connection
                assert raw is not None
                connection.rollback()
                raw.executescript("PRAGMA incremental_vacuum(128)")
            time.sleep(pause)


def _inode(file: Path) -> int | None:
    """Which file it is, whatever its name; None where there is none."""
    with contextlib.suppress(OSError):
        return file.stat().st_ino
    return None
