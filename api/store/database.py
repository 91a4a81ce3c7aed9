"""An opened database: transactions whose errors have names, and a file that can be set aside."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from api.store import outside
from api.store.engine import (
    MOST_LOG_BYTES,
    StoreCorrupt,
    file_of,
    named_errors,
    open_engine,
    set_aside,
)
from api.words import Sentence


class Database:
    """Reads may come from any thread; writes take turns."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.damaged: Path | None = None  # where a damaged file lies that was set aside
        self.kept_log = outside.KeptLog(MOST_LOG_BYTES)
        self._pen = threading.Lock()
        self._writer: Connection | None = None  # of SQLite, which lets one write at a time
        self.engine = self._open()

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
        self._log_inode = _inode(outside.log_of(file)) if file is not None else None
        return engine

    @property
    def embedded(self) -> bool:
        """SQLite: this process is the only one that serves it."""
        return self.engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path | None:
        return file_of(self.engine.url)

    def upsert(self, table: Table) -> Any:
        """An INSERT that may say what to do where the row is there already: `on_conflict_do_…`."""
        dialect: Any = sqlite if self.embedded else postgresql
        return dialect.insert(table)

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

    def checkpoint(self) -> Sentence | None:
        """Move what was committed from SQLite's log into the file, beside those who read and write.

        Returns what there is to say of a log that somebody keeps, who still reads what was there before.
        """
        file = self.file
        if file is None or not self.embedded:
            return None
        if self._log_inode != _inode(outside.log_of(file)):
            return self._rescue_log(file)
        with named_errors(self.engine), contextlib.closing(self.engine.raw_connection()) as raw:
            cursor = raw.cursor()
            _, pages, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            (page_bytes,) = cursor.execute("PRAGMA page_size").fetchone()
        return self.kept_log.note(file, (pages - moved) * page_bytes)

    def _rescue_log(self, file: Path) -> Sentence | None:
        """Move what a removed log holds into the file, and begin a new one; what there is to say of it.

        A crash would find nothing of it. The writer still has it open; who opens the file anew meets a log
        without what its index tells, which reads as a failing disk.
        """
        log = outside.log_of(file)
        with self._pen, named_errors(self.engine):
            if not outside.has_removed(log):  # all have closed it, and it was begun anew
                self._log_inode = _inode(log)
                return None
            if self._writer is None or self._inode != _inode(file):
                return None
            raw = self._writer.connection.driver_connection
            assert raw is not None
            _, pages, moved = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if moved < pages:
                return None  # somebody reads what was there before: the next time
            self._drop_writer()
            self.engine.dispose()
            self._log_inode = _inode(log)
        return Sentence("store.log.removed", where=log)

    def look(self) -> None:
        """Read a little of the file past every cache; raises StoreCorrupt when another program spoilt it."""
        file = self.file
        if file is None or not self.embedded:
            return
        with named_errors(self.engine):
            if self._inode != _inode(file):
                raise StoreCorrupt("store.replaced", where=file)
            wrong = outside.look(file)
        if wrong is not None:
            raise StoreCorrupt("store.damaged", where=file, reason=wrong)

    def start_afresh(self) -> Path | None:
        """Set a damaged file aside and go on with an empty one; returns where the old one lies."""
        file = self.file
        replaced = file is not None and _inode(file) not in (None, self._inode)
        if file is not None and _inode(file) != self._inode:
            self._finish_elsewhere()
        self._drop_writer()
        self.engine.dispose()
        self.damaged = set_aside(self.url, replaced=replaced)
        self.engine = self._opened()
        return self.damaged

    def _finish_elsewhere(self) -> None:
        """Move what the log holds into the open file, whatever its name is now: it was acknowledged."""
        with contextlib.suppress(SQLAlchemyError, sqlite3.Error, OSError):
            if self._writer is not None:
                raw = self._writer.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        self._drop_writer()
        self.engine.dispose()


def _inode(file: Path) -> int | None:
    """Which file it is, whatever its name; None where there is none. Raises OSError where nobody may look."""
    with contextlib.suppress(FileNotFoundError):
        return file.stat().st_ino
    return None
