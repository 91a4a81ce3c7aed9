"""An SQLite file as other programs see it and use it: what a stranger reads there, and who has it open.

Whoever has the file open reads much of it from memory: what another program wrote over it is met late, and
at restarts. A connection of its own has nothing in memory.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from pathlib import Path

from api.store.tables import metadata
from api.words import Sentence

CHECKED = ("alembic_version", "mutes", "maintenance")  # as a whole: they are small
ONE_TABLE = (3, 33)  # SQLite before that checks the whole file, which takes long
SAMPLES = {"snapshots": 8}  # rows looked at; of other tables one
WAIT_SECONDS = 1.0
MOST_NAMED = 3
NETWORK = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "ceph", "fuse.ceph",
    "lustre", "beegfs", "gpfs", "afs",
))  # fmt: skip


def look(path: Path) -> str | None:
    """Read a little of everything, elsewhere each time; what is wrong, or None. May raise sqlite3.Error.

    It takes about half a millisecond and locks nobody out: a reader of SQLite's log waits for none.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        connection.execute("BEGIN")  # one moment: rows are deleted while we look
        for table in CHECKED if sqlite3.sqlite_version_info >= ONE_TABLE else ():
            (said,) = connection.execute(f"PRAGMA quick_check({table})").fetchone()
            if said != "ok":
                return str(said)
        for table in metadata.tables:
            (last,) = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()
            (first,) = connection.execute(f"SELECT min(rowid) FROM {table}").fetchone()
            for _ in range(SAMPLES.get(table, 1) if last is not None else 0):
                place = random.randint(first, last)
                connection.execute(f"SELECT rowid FROM {table} WHERE rowid >= ? LIMIT 1", (place,)).fetchone()
    return None


class KeptLog:
    """SQLite's log while somebody keeps it from being emptied: it grows with every report then."""

    def __init__(self, most_bytes: int) -> None:
        self._most = self._told_from = most_bytes
        self.bytes = 0
        self.warning: Sentence | None = None  # what is wrong now

    def note(self, file: Path, kept_bytes: int) -> Sentence | None:
        """What is new about it: too long, twice as long as was told, or emptied again."""
        self.bytes = kept_bytes
        if kept_bytes > self._told_from:
            self._told_from = 2 * kept_bytes
            who = others(file) or Sentence("store.log.nobody")
            self.warning = Sentence("store.log.kept", where=file, mebibytes=kept_bytes >> 20, who=who)
            return self.warning
        if kept_bytes > self._most or self.warning is None:
            return None
        self._told_from, self.warning = self._most, None
        return Sentence("store.log.emptied", where=file)


def network_of(file: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The kind of network file system that a file lies on; None for a local disk, or where nobody tells.

    SQLite's log wants memory that all its readers share, and locks and fsync that hold (sqlite.org/wal.html).
    """
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    place, best, kind = file.absolute().resolve(), -1, None
    for line in lines:
        told, _, source = line.partition(" - ")
        point = told.split(" ")[4].replace("\\040", " ")
        if place.is_relative_to(point) and len(point) >= best:  # the last one mounted on a place counts
            best, kind = len(point), source.split(" ")[0]
    return kind if kind in NETWORK else None


def log_of(file: Path) -> Path:
    """Where SQLite keeps the log of a file."""
    return Path(f"{file}-wal")


def has_removed(path: Path) -> bool:
    """Whether this process has a file of that name open that is no longer there by any name."""
    for handle in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            if os.readlink(handle) == f"{path.absolute()} (deleted)":
                return True
    return False


def others(path: Path) -> str:
    """Programs that have the file open beside us, as far as this user may see: `sqlite3 (pid 4121)`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if _has_open(folder, path.stat()):
                found.append(f"{(folder / 'comm').read_text().strip()} (pid {folder.name})")
    return ", ".join(found[:MOST_NAMED]) + (" …" if len(found) > MOST_NAMED else "")


def _has_open(process: Path, file: os.stat_result) -> bool:
    for handle in (process / "fd").iterdir():
        with contextlib.suppress(OSError):
            if os.path.samestat(handle.stat(), file):
                return True
    return False
