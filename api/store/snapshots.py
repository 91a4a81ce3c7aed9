"""Nodes and their snapshots, and the packed windows that outlive a restart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import zstandard
from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update

from api.store.database import Database
from api.store.tables import changes, findings, maintenance, nodes, snapshots, windows
from gpudiag.model import Snapshot


class StoredNode(NamedTuple):
    """A row of `nodes`."""

    id: int
    name: str
    first_seen: float
    last_seen: float
    version: int
    verdict: dict[str, Any] | None
    changed_at: float | None
    load: bytes | None = None


class StoredSnapshot(NamedTuple):
    """A row of `snapshots`; `body` is still compressed."""

    id: int
    taken_at: float
    received_at: float
    body: bytes

    def snapshot(self) -> Snapshot:
        """The snapshot, with its time in the server's clock."""
        found = DECODER.decode(unpack(self.body))
        found.taken_at = self.taken_at
        return found


class NewSnapshot(NamedTuple):
    """A row of `snapshots` to be added; `body` is compressed."""

    node_id: int
    taken_at: float
    received_at: float
    start_key: int
    sequence: int
    body: bytes


_ADD = (
    f"INSERT INTO {snapshots.name} ({', '.join(NewSnapshot._fields)})"
    f" VALUES ({', '.join('?' * len(NewSnapshot._fields))})"
)


def _node(row: Any) -> StoredNode:
    found = StoredNode(*row)
    return found._replace(verdict=msgspec.json.decode(row.verdict) if row.verdict else None)


DECODER = msgspec.json.Decoder(Snapshot)
LARGEST_BODY = 32 << 20
STEPS = 42  # of the time that is kept: of a week, each is four hours


def pack(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


def unpack(body: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(body, max_output_size=LARGEST_BODY)


def start_key(node: str, start_id: str) -> int:
    """64 bits, signed, that stand for one start of one node's agent."""
    digest = hashlib.blake2b(f"{node}\0{start_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Snapshots:
    """Nodes, snapshots and packed windows."""

    def __init__(self, store: Database) -> None:
        self._store = store

    # ---- nodes

    def nodes(self) -> list[StoredNode]:
        columns = [nodes.c[name] for name in StoredNode._fields]
        with self._store.reading() as connection:
            rows = connection.execute(select(*columns)).all()
        return [_node(row) for row in rows]

    def node(self, name: str) -> StoredNode | None:
        columns = [nodes.c[name] for name in StoredNode._fields]
        with self._store.reading() as connection:
            row = connection.execute(select(*columns).where(nodes.c.name == name)).one_or_none()
        return None if row is None else _node(row)

    def add_node(self, connection: Connection, name: str, now: float) -> int:
        """The id of the node, made when it is new."""
        found = connection.execute(select(nodes.c.id).where(nodes.c.name == name)).scalar()
        if found is not None:
            return int(found)
        statement = self._store.upsert(nodes).values(name=name, first_seen=now, last_seen=now, version=0)
        connection.execute(statement.on_conflict_do_nothing())
        return int(connection.execute(select(nodes.c.id).where(nodes.c.name == name)).scalar_one())

    def versions(self, connection: Connection, ids: Sequence[int]) -> dict[int, int]:
        rows = connection.execute(select(nodes.c.id, nodes.c.version).where(nodes.c.id.in_(ids)))
        return {row.id: row.version for row in rows}

    def save_seen(self, connection: Connection, seen: Iterable[tuple[int, float]]) -> None:
        rows = [{"node": node_id, "at": at} for node_id, at in seen]
        if rows:
            statement = update(nodes).where(nodes.c.id == bindparam("node"))
            connection.execute(statement.values(last_seen=bindparam("at")), rows)

    def save_loads(self, connection: Connection, seen: Iterable[tuple[int, float, bytes]]) -> None:
        """When nodes were seen, and what their GPUs held and did then."""
        rows = [{"node": node_id, "at": at, "is": load} for node_id, at, load in seen]
        if rows:
            statement = update(nodes).where(nodes.c.id == bindparam("node"))
            connection.execute(statement.values(last_seen=bindparam("at"), load=bindparam("is")), rows)

    def forget(self, connection: Connection, node_id: int) -> None:
        """Drop a node with all that is stored of it."""
        for table in (snapshots, windows, findings, changes, maintenance):
            connection.execute(delete(table).where(table.c.node_id == node_id))
        connection.execute(delete(nodes).where(nodes.c.id == node_id))

    # ---- snapshots

    def add(self, connection: Connection, rows: list[NewSnapshot]) -> None:
        if self._store.embedded:  # by the driver itself: this runs for every report
            raw = connection.connection.driver_connection
            assert raw is not None
            raw.executemany(_ADD, rows)
        else:
            connection.execute(insert(snapshots), [row._asdict() for row in rows])

    def known(self, connection: Connection, names: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Which of the (start key, sequence) are stored already."""
        wanted = [
            and_(snapshots.c.start_key == start, snapshots.c.sequence == sequence)
            for start, sequence in names
        ]
        found: set[tuple[int, int]] = set()
        for first in range(0, len(wanted), 200):
            statement = select(snapshots.c.start_key, snapshots.c.sequence)
            rows = connection.execute(statement.where(or_(*wanted[first : first + 200])))
            found.update((row.start_key, row.sequence) for row in rows)
        return found

    def last_ids(self, connection: Connection, ids: Iterable[int]) -> dict[int, int]:
        """The number of the newest stored snapshot of each node."""
        statement = select(snapshots.c.node_id, func.max(snapshots.c.id)).group_by(snapshots.c.node_id)
        rows = connection.execute(statement.where(snapshots.c.node_id.in_(list(ids))))
        return {row[0]: row[1] for row in rows}

    def newest(self, node_id: int) -> float | None:
        """When the newest snapshot of a node was taken."""
        with self._store.reading() as connection:
            return connection.execute(
                select(func.max(snapshots.c.taken_at)).where(snapshots.c.node_id == node_id)
            ).scalar()

    def newest_before(self, node_id: int, at: float) -> float | None:
        with self._store.reading() as connection:
            statement = select(func.max(snapshots.c.taken_at))
            return connection.execute(
                statement.where(snapshots.c.node_id == node_id, snapshots.c.taken_at <= at)
            ).scalar()

    def oldest(self, node_id: int) -> float | None:
        with self._store.reading() as connection:
            statement = select(func.min(snapshots.c.taken_at))
            return connection.execute(statement.where(snapshots.c.node_id == node_id)).scalar()

    def between(self, node_id: int, first: float, last: float) -> list[StoredSnapshot]:
        """Snapshots taken after `first` up to `last`, oldest first."""
        where = and_(
            snapshots.c.node_id == node_id, snapshots.c.taken_at > first, snapshots.c.taken_at <= last
        )
        return self._rows(where, snapshots.c.taken_at)

    def after(self, node_id: int, snapshot_id: int) -> list[StoredSnapshot]:
        """Snapshots stored after the one with `snapshot_id`, in the order they were stored."""
        return self._rows(and_(snapshots.c.node_id == node_id, snapshots.c.id > snapshot_id), snapshots.c.id)

    def _rows(self, where: Any, order: Any) -> list[StoredSnapshot]:
        columns = [snapshots.c[name] for name in StoredSnapshot._fields]
        with self._store.reading() as connection:
            rows = connection.execute(select(*columns).where(where).order_by(order, snapshots.c.id))
            return [StoredSnapshot(*row) for row in rows]

    def count(self) -> int:
        with self._store.reading() as connection:
            return connection.execute(select(func.count()).select_from(snapshots)).scalar_one()

    def kept_from(self, now: float, span: float) -> float:
        """The moment since when reports came in for `span` seconds.

        A time in which none came does not count: neither an outage nor a clock that jumped ahead makes what
        is stored older.
        """
        at, step = now, span / STEPS
        for left in range(STEPS, 0, -1):
            newest = self._received_before(at)
            if newest is None:
                return at - left * step
            if at - newest > step:
                at = newest
            at -= step
        return at

    def _received_before(self, at: float) -> float | None:
        """When the newest of the snapshots came in that came before `at`."""
        last = self.last_id_received_before(at)
        if last is None:
            return None
        statement = select(snapshots.c.received_at).where(snapshots.c.id <= last)
        with self._store.reading() as connection:
            return connection.execute(statement.order_by(snapshots.c.id.desc()).limit(1)).scalar()

    def last_id_received_before(self, at: float) -> int | None:
        """The newest row of those received before `at`, found by halving: rows lie in order of receipt."""
        with self._store.reading() as connection:
            # Asked for both at once, SQLite reads the whole table.
            first = connection.execute(select(func.min(snapshots.c.id))).scalar()
            if first is None:
                return None
            low, high = first - 1, connection.execute(select(func.max(snapshots.c.id))).scalar_one()
            while low < high:
                middle = (low + high + 1) // 2
                row = connection.execute(
                    select(snapshots.c.id, snapshots.c.received_at)
                    .where(snapshots.c.id <= middle)
                    .order_by(snapshots.c.id.desc())
                    .limit(1)
                ).one_or_none()
                if row is None or row.received_at < at:
                    low = middle
                else:
                    high = row.id - 1
            return low if low >= first else None

    # ---- packed windows

    def packed(self, node_id: int) -> tuple[float, bytes] | None:
        with self._store.reading() as connection:
            statement = select(windows.c.packed_at, windows.c.packed)
            row = connection.execute(statement.where(windows.c.node_id == node_id)).one_or_none()
        return None if row is None else (row.packed_at, zstandard.ZstdDecompressor().decompress(row.packed))

    def save_packed(self, connection: Connection, node_id: int, packed_at: float, packed: bytes) -> None:
        compressed = zstandard.ZstdCompressor(level=3).compress(packed)
        values = {"packed_at": packed_at, "packed": compressed}
        statement = self._store.upsert(windows).values(node_id=node_id, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=["node_id"], set_=values))
