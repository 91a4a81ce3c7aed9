"""What is stored comes back, on both databases; what is old goes, a little at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import create_engine, event, inspect

from api.store import HEAD, Store
from api.store.engine import BUSY_SECONDS, MOST_LOG_BYTES, upgrade
from api.store.snapshots import NewSnapshot, pack, start_key
from api.store.tables import metadata
from gpudiag.changes import OpenFinding
from gpudiag.model import AgentReading, Finding, Snapshot

NOW = 1_764_400_000.0


def add(store: Store, node: str, *times: float, received: float | None = None) -> int:
    with store.writing() as connection:
        node_id = store.snapshots.add_node(connection, node, NOW)
        rows = []
        for at in times:
            snapshot = Snapshot(node=node, taken_at=at, agent=AgentReading(start_id="s", sequence=int(at)))
            body = pack(msgspec.json.encode(snapshot))
            rows.append(NewSnapshot(node_id, at, received or at, start_key(node, "s"), int(at), body))
        store.snapshots.add(connection, rows)
    return node_id


def finding(rule: str = "gpu-lost-bus", finding_id: str = "f-1") -> OpenFinding:
    found = Finding(
        rule=rule, severity="critical", confidence="proven", gpu=0, gpu_uuid="GPU-1", since=NOW, id=finding_id
    )
    return OpenFinding(finding=found, opened_at=NOW, last_seen_at=NOW)


def test_snapshots_come_back_in_order(store: Store) -> None:
    node = add(store, "node-1", NOW + 20, NOW + 10, NOW + 30)
    add(store, "node-2", NOW + 15)

    found = [row.snapshot().taken_at for row in store.snapshots.between(node, NOW + 10, NOW + 30)]

    assert found == [NOW + 20, NOW + 30]
    assert store.snapshots.newest(node) == NOW + 30
    assert store.snapshots.newest_before(node, NOW + 25) == NOW + 20


def test_a_snapshot_is_stored_once_whatever_happens(store: Store) -> None:
    from api.store import StoreError

    add(store, "node-1", NOW)

    with pytest.raises(StoreError):
        add(store, "node-1", NOW)
    assert store.snapshots.count() == 1


def test_open_findings_come_back_with_their_state(store: Store) -> None:
    node = add(store, "node-1", NOW)
    episode = finding()
    with store.writing() as connection:
        store.episodes.save(connection, node, episode, None)
    episode.finding.state = "acknowledged"
    with store.writing() as connection:
        store.episodes.save(connection, node, episode, None)

    [(key, known)] = store.episodes.open_of(node).items()

    assert key == ("gpu-lost-bus", "GPU-1", "")
    assert known.finding.state == "acknowledged"


def test_what_was_open_then_is_known_later(store: Store) -> None:
    node = add(store, "node-1", NOW)
    with store.writing() as connection:
        store.episodes.save(connection, node, finding(), NOW + 100)

    assert store.episodes.open_of(node) == {}
    assert [e.finding.id for e in store.episodes.open_at(node, NOW + 50)] == ["f-1"]
    assert store.episodes.open_at(node, NOW + 150) == []
    assert store.episodes.open_at(node, NOW - 1) == []


def test_an_undone_transaction_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.writing() as connection:
        store.snapshots.add_node(connection, "node-1", NOW)
        raise RuntimeError

    assert store.snapshots.nodes() == []


def test_old_rows_go_and_new_ones_stay(store: Store) -> None:
    node = add(store, "node-1", *(NOW + i for i in range(1_000)))
    with store.writing() as connection:
        store.episodes.save(connection, node, finding(), NOW + 10)
        store.episodes.save(connection, node, finding(finding_id="f-2"), None)

    gone = store.keep_since(NOW + 600, pause=0)

    assert gone == 600
    assert store.snapshots.oldest(node) == NOW + 600
    assert store.episodes.get("f-1") is None
    assert store.episodes.get("f-2") is not None
    assert store.keep_since(NOW + 600, pause=0) == 0


def test_late_reports_do_not_hide_old_ones(store: Store) -> None:
    """A spool that is sent later was received later, whenever it was taken."""
    add(store, "node-1", NOW + 500)
    add(store, "node-2", NOW + 10, received=NOW + 900)

    assert store.keep_since(NOW + 600, pause=0) == 1
    assert store.snapshots.count() == 1


def test_deleting_never_holds_the_writers_up(store: Store) -> None:
    body = pack(b"x" * 10 + bytes(range(256)) * 14)
    with store.writing() as connection:
        node = store.snapshots.add_node(connection, "node-1", NOW)
        for first in range(0, 30_000, 5_000):
            rows = [NewSnapshot(node, NOW + i, NOW + i, 1, i, body) for i in range(first, first + 5_000)]
            store.snapshots.add(connection, rows)
    waits: list[float] = []
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            started = time.perf_counter()
            with store.writing() as connection:
                store.snapshots.save_seen(connection, [(node, time.time())])
            waits.append(time.perf_counter() - started)
            time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    began = time.perf_counter()
    try:
        assert store.keep_since(NOW + 29_000, pause=0.01) == 29_000
    finally:
        took = time.perf_counter() - began
        ended.set()
        writer.join()

    waits.sort()
    assert len(waits) > 20
    assert waits[int(len(waits) * 0.95)] < took / 4  # a small part of it, however fast the machine is


def test_deleting_leaves_no_long_log_to_whoever_commits_next(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.sqlite3")
    with store.writing() as connection:
        node = store.snapshots.add_node(connection, "node-1", NOW)
    for first in range(0, 24_000, 4_000):
        rows = [
            NewSnapshot(node, NOW + i, NOW + i, i % 97 << 40, i, os.urandom(3_900))
            for i in range(first, first + 4_000)
        ]
        with store.writing() as connection:
            store.snapshots.add(connection, rows)
    with contextlib.closing(store.engine.raw_connection()) as raw:
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    store.keep_since(NOW + 24_000, pause=0)

    assert (tmp_path / "store.sqlite3-wal").stat().st_size < MOST_LOG_BYTES / 2
    store.close()


def received(store: Store, *moments: float) -> Store:
    with store.writing() as connection:
        node = store.snapshots.add_node(connection, "node-1", moments[0])
        rows = [NewSnapshot(node, at, at, 1, i, b"") for i, at in enumerate(moments)]
        store.snapshots.add(connection, rows)
    return store


HOUR, DAY, YEAR = 3_600.0, 86_400.0, 365 * 86_400.0
WEEK = [NOW + HOUR * i for i in range(8 * 24)]  # a report an hour, for eight days
LAST = WEEK[-1]


def test_what_is_older_than_what_is_kept_goes(store: Store) -> None:
    assert received(store, *WEEK).snapshots.kept_from(LAST, 7 * DAY) == pytest.approx(LAST - 7 * DAY)


@pytest.mark.parametrize("jump", [2 * DAY, 10 * DAY, YEAR])
def test_a_clock_that_jumps_ahead_makes_nothing_older(store: Store, jump: float) -> None:
    after = [LAST + jump + HOUR * i for i in range(1, 25)]
    received(store, *WEEK, *after)

    assert store.snapshots.kept_from(after[0], 7 * DAY) == pytest.approx(LAST - 7 * DAY, abs=6 * HOUR)
    assert store.snapshots.kept_from(after[-1], 7 * DAY) == pytest.approx(LAST - 6 * DAY, abs=6 * HOUR)


@pytest.mark.parametrize("away", [3 * DAY, YEAR])
def test_a_time_without_reports_makes_nothing_older(store: Store, away: float) -> None:
    assert received(store, *WEEK).snapshots.kept_from(LAST + away, 7 * DAY) == pytest.approx(LAST - 7 * DAY)


def test_a_clock_that_is_set_right_again_makes_nothing_older(store: Store) -> None:
    ahead = [LAST + YEAR + 10 * i for i in range(30)]
    after = [LAST + HOUR * i for i in range(1, 49)]

    oldest = received(store, *WEEK, *ahead, *after).snapshots.kept_from(after[-1], 7 * DAY)

    assert LAST - 7 * DAY <= oldest + 6 * HOUR and oldest <= after[-1] - 7 * DAY + 6 * HOUR


def test_an_empty_store_keeps_as_long_as_any(store: Store) -> None:
    assert store.snapshots.kept_from(NOW, 7 * DAY) == pytest.approx(NOW - 7 * DAY)


def test_findings_that_ended_long_ago_go_a_few_at_a_time(store: Store) -> None:
    node = add(store, "node-1", NOW)
    with store.writing() as connection:
        for number in range(1_000):
            store.episodes.save(connection, node, finding(finding_id=f"f-{number}"), NOW + 10)
    gone: list[int] = []

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        if statement.startswith("DELETE FROM findings"):
            gone.append(cursor.rowcount)

    event.listen(store.engine, "after_cursor_execute", note)
    store.keep_since(NOW + 600, pause=0)

    assert sum(gone) == 1_000
    assert max(gone) < 400


def test_space_is_given_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(f"sqlite:///{tmp_path}/store.sqlite3")
    import os

    with store.writing() as connection:
        node = store.snapshots.add_node(connection, "node-1", NOW)
        rows = [NewSnapshot(node, NOW + i, NOW + i, 1, i, os.urandom(4_000)) for i in range(4_000)]
        store.snapshots.add(connection, rows)
    assert store.file is not None
    with store.writing() as connection:
        pass
    store.keep_since(NOW + 4_000, pause=0)
    with store.reading() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    assert store.file.stat().st_size < 8 << 20
    store.close()


def test_tokens_are_found_by_digest_only(store: Store) -> None:
    made, entry = store.tokens.create("agent", "node-1", "rack 4", NOW)

    [(digest, known)] = store.tokens.valid().items()

    assert entry == known
    assert made.encode() != digest and len(digest) == 32
    assert store.tokens.revoke(entry.id, NOW) and not store.tokens.revoke(entry.id, NOW)
    assert store.tokens.valid() == {}


def test_the_migrations_make_what_the_code_expects(store: Store) -> None:
    made, wanted = inspect(store.engine), create_engine("sqlite://")
    metadata.create_all(wanted)
    expected = inspect(wanted)
    for table in metadata.tables:
        assert [c["name"] for c in expected.get_columns(table)] == [
            c["name"] for c in made.get_columns(table)
        ]
        assert {i["name"] for i in expected.get_indexes(table)} <= {
            i["name"] for i in made.get_indexes(table)
        }
    wanted.dispose()


def test_servers_that_start_together_make_the_tables_once(postgresql: str) -> None:
    program = "import sys; from api.store import Store; Store(sys.argv[1]).close()"
    started = [
        subprocess.Popen([sys.executable, "-c", program, postgresql], stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    said = [process.communicate()[1] for process in started]

    assert said == [b""] * 4


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_of_an_older_version_keeps_what_it_has(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    url = request.getfixturevalue("postgresql") if kind == "postgresql" else f"sqlite:///{tmp_path}/store"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    upgrade(engine, "0001")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO nodes (name, first_seen, last_seen, version) VALUES ('node-3', 1.0, 2.0, 7)"
        )
    engine.dispose()
    store = Store(url)
    [node] = store.snapshots.nodes()
    store.close()

    assert (node.name, node.first_seen, node.last_seen, node.version, node.load) == (
        "node-3",
        1.0,
        2.0,
        7,
        None,
    )


def test_a_store_of_a_newer_version_is_left_alone(store: Store) -> None:
    from api.store import StoreError

    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match="newer gpudiag"):
        Store(store.engine.url.render_as_string(hide_password=False))
    assert HEAD == "0002"


def test_the_file_is_laid_out_for_many_small_writes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(f"sqlite:///{tmp_path}/new/folder/store.sqlite3")

    with store.reading() as connection:
        kept = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("page_size", "auto_vacuum", "journal_mode", "synchronous")}  # fmt: skip
    store.close()

    assert kept == {"page_size": 4_096, "auto_vacuum": 2, "journal_mode": "wal", "synchronous": 2}


def test_looking_in_waits_for_nobody_who_writes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(f"sqlite:///{tmp_path}/store.sqlite3")
    add(store, "node-1", NOW)
    started = time.monotonic()

    with store.writing(), store.reading(), store.reading() as newly_connected:
        found = newly_connected.exec_driver_sql("SELECT count(*) FROM snapshots").scalar()
    store.close()

    assert found == 1
    assert time.monotonic() - started < BUSY_SECONDS


def test_a_server_that_vanished_is_given_up_soon_unless_the_address_says_otherwise(postgresql: str) -> None:
    store = Store(f"{postgresql}?connect_timeout=9")
    with store.reading() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        given = raw.info.get_parameters()
    store.close()

    assert (given["connect_timeout"], given["tcp_user_timeout"]) == ("9", "20000")
