"""Opening a store: pragmas, migrations, and what its errors mean to the person who runs it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from api.words import Worded

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

HEAD = "0002"
"""The newest migration: a store that has it is opened without loading Alembic."""

PAGE_BYTES = 4_096  # every report changes a page of each index, somewhere: large ones would be mostly old
# What a busy server writes within some seconds. A commit that finds more waits until it is in the file (see
# Store.checkpoint); a log that grew beyond, for somebody kept it, is cut to this at the first commit after.
MOST_LOG_BYTES = 64 << 20
BUSY_SECONDS = 5.0
# Of the server's 64 threads half may wait for the store: the others answer what needs none.
KEPT_CONNECTIONS, MORE_CONNECTIONS = 8, 24
FREE_SECONDS = 3.0  # so long a question waits until a connection is free
REACHABLE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
"""How soon a PostgreSQL server is given up that vanished; what the store's URL says goes before."""
MIGRATE_LOCK = 0x67706D67  # PostgreSQL's advisory lock of who brings the tables up to date


class StoreError(Worded):
    """The store failed in a way that has no name of its own."""

    status = 503
    exit_code = 3


class StoreReadOnly(StoreError):
    """The store can be read, not written."""


class StoreFull(StoreError):
    """No space is left for the store."""


class StoreCorrupt(StoreError):
    """The file is damaged, or no database."""


class StoreBusy(StoreError):
    """Another process holds the store."""


class StoreUnreachable(StoreError):
    """The database server does not answer, or the file's folder is not there."""


def open_engine(url: str) -> Engine:
    """An engine on `url` with the newest tables. Raises a StoreError that says what to do."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        engine = _postgresql(parsed)
    else:
        engine = _sqlite(parsed)
    try:
        with named_errors(engine):
            migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _sqlite(url: URL) -> Engine:
    path = file_of(url)
    if path is not None:
        _make_folder(path)
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        pool_size=KEPT_CONNECTIONS,
        max_overflow=MORE_CONNECTIONS,
        pool_timeout=FREE_SECONDS,
        pool_use_lifo=True,  # each connection has a cache of its own: few of them stay warm
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        if connection.execute("PRAGMA page_count").fetchone() == (0,):
            # Only an empty file takes them, before WAL; any other would wait for who writes just now.
            connection.executescript(f"PRAGMA page_size={PAGE_BYTES}; PRAGMA auto_vacuum=INCREMENTAL;")
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;"
            f"PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit={MOST_LOG_BYTES};"
            f"PRAGMA wal_autocheckpoint={MOST_LOG_BYTES // PAGE_BYTES};"
            "PRAGMA secure_delete=OFF;"  # Debian's SQLite writes zeros over each page that becomes free
        )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A reader that turns writer half-way could fail where a waiting writer succeeds.
        writes = connection.get_execution_options().get("writes", False)
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    try:
        return create_engine(
            url,
            connect_args={name: value for name, value in REACHABLE.items() if name not in url.query},
            pool_size=KEPT_CONNECTIONS,
            max_overflow=MORE_CONNECTIONS,
            pool_timeout=FREE_SECONDS,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError:
        raise StoreUnreachable("store.psycopg") from None


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreachable("store.folder", folder=path.parent, reason=error) from None


def hold(url: str) -> IO[bytes] | None:
    """Take an SQLite file for this process alone, as a server; raises StoreBusy. Others may still look in."""
    path = file_of(url)
    if path is None or fcntl is None:
        return None
    _make_folder(path)
    try:
        held = Path(f"{path}.lock").open("ab")  # noqa: SIM115 (held until the store is closed)
    except OSError as error:
        raise StoreReadOnly("store.lock", where=path, reason=error) from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise StoreBusy("store.held", where=path) from None
    return held


def file_of(url: URL | str) -> Path | None:
    """The file of an SQLite store, or None."""
    url = make_url(url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    return Path(url.database)


def migrate(engine: Engine) -> None:
    """Bring the tables to `HEAD`; a store that has it already costs one query."""
    with engine.connect() as connection:
        if inspect(connection).has_table("alembic_version"):
            version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            if version == HEAD:
                return
            if version is not None and version > HEAD:
                raise StoreError("store.newer", version=version, known=HEAD)
    upgrade(engine, "head")


def upgrade(engine: Engine, version: str) -> None:
    """Bring older tables to a version; who comes second waits, and finds that done."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATE_LOCK})"))
        config.attributes["connection"] = connection
        command.upgrade(config, version)


@contextlib.contextmanager
def named_errors(engine: Engine) -> Iterator[None]:
    """Turn the driver's errors into ours, each with what to do."""
    try:
        yield
    except (DBAPIError, NoConnection, sqlite3.Error, OSError) as error:
        raise named(error, engine.url) from error


def named(error: BaseException, url: URL) -> StoreError:
    """The class and the sentence that fit a driver's error."""
    original = getattr(error, "orig", None) or error
    said = str(original).strip().split("\n")[0]
    where = file_of(url) or url.render_as_string(hide_password=True)
    low = said.lower()
    if isinstance(error, NoConnection):
        return StoreBusy("store.crowded", where=where, most=KEPT_CONNECTIONS + MORE_CONNECTIONS)
    if url.get_backend_name() == "sqlite":
        if "readonly" in low or "read-only" in low:
            return StoreReadOnly("store.readonly", where=where)
        if "disk is full" in low or "no space" in low or "quota" in low:
            return StoreFull("store.full", where=where)
        if "malformed" in low or "not a database" in low or "corrupt" in low:
            return StoreCorrupt("store.damaged", where=where, reason=said)
        if "locked" in low or "busy" in low:
            return StoreBusy("store.busy", where=where)
        if "unable to open" in low:
            return StoreUnreachable("store.closed", where=where)
        if "disk i/o" in low:
            return StoreUnreachable("store.disk", where=where, reason=said)
    else:
        if "read-only" in low:
            return StoreReadOnly("store.standby", where=where)
        if "no space" in low or "disk full" in low:
            return StoreFull("store.full.server", where=where)
        if not isinstance(error, DatabaseError) or "connect" in low or "server closed" in low:
            return StoreUnreachable("store.silent", where=where, reason=said)
    return StoreError("store.other", where=where, reason=said)


def set_aside(url: URL | str, *, replaced: bool = False) -> Path | None:
    """Move a damaged SQLite file (and its log) out of the way; returns where it lies, None without one.

    `replaced`: the log is of the file that was there before; whoever opens this one must not play it in.
    """
    path = file_of(url)
    if path is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    log_aside = path.with_name(f"{path.name}.gone-{stamp}") if replaced else aside
    moved = False
    for suffix, to in (("", aside), ("-wal", log_aside), ("-shm", log_aside)):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{to}{suffix}")
            moved = True
    return aside if moved else None
