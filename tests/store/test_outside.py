"""Other programs that have the file open: they spoil it, take it away, or do not let go of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.store import Store, StoreCorrupt, StoreError
from api.store.engine import MOST_LOG_BYTES, PAGE_BYTES
from api.store.outside import log_of, network_of
from api.store.snapshots import NewSnapshot

NOW = 1_764_400_000.0
OVERWRITES = "import os, sys; f = open(sys.argv[1], 'r+b'); f.seek({start}); f.write(os.urandom({size}))"
READS_FOR_EVER = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN');"
    "c.execute('SELECT count(*) FROM nodes').fetchone(); print('reads', flush=True); sys.stdin.read()"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/store.sqlite3")
    with store.writing() as connection:
        store.snapshots.add_node(connection, "node-1", NOW)
    yield store
    store.close()


@pytest.fixture
def file(store: Store) -> Path:
    assert store.file is not None
    return store.file


class Reports:
    """Reports of one node, as the writer stores them."""

    def __init__(self, store: Store) -> None:
        self.store, self.sequence = store, 0

    def come(self, count: int, size: int = 4_000) -> None:
        for _ in range(count):
            self.sequence += 1
            at, body = NOW + self.sequence, os.urandom(size)
            with self.store.writing() as connection:
                self.store.snapshots.add(connection, [NewSnapshot(1, at, at, 1, self.sequence, body)])


@pytest.fixture
def reports(store: Store) -> Reports:
    return Reports(store)


@pytest.fixture
def another_program(file: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Run a script with the store's file, in a process of its own."""
    with contextlib.ExitStack() as running:

        def run(script: str) -> subprocess.Popen[str]:
            words = [sys.executable, "-c", script, str(file)]
            return running.enter_context(
                subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )

        yield run


def test_a_file_that_was_overwritten_is_noticed_though_the_writer_has_it_in_memory(
    store: Store, file: Path, reports: Reports, another_program: Callable[[str], subprocess.Popen[str]]
) -> None:
    reports.come(600)
    store.checkpoint()
    reports.come(20)  # the log begins anew: what was moved is in the file alone
    store.look()
    size = file.stat().st_size - PAGE_BYTES

    assert another_program(OVERWRITES.format(start=PAGE_BYTES, size=size)).wait() == 0
    reports.come(20)  # and nothing is noticed

    with pytest.raises(StoreCorrupt, match="damaged"):
        for _ in range(20):  # elsewhere each time: what is in the log is whole
            store.look()


def test_a_look_waits_for_no_writer_and_no_writer_for_a_look(store: Store, reports: Reports) -> None:
    reports.come(10)

    with store.writing():
        store.look()
    reports.come(1)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_taken_away_is_noticed(
    store: Store, file: Path, reports: Reports, replaced: bool
) -> None:
    reports.come(10)
    if replaced:
        other = Store(f"sqlite:///{file.with_name('other.sqlite3')}")
        other.close()
        os.replace(file.with_name("other.sqlite3"), file)
    else:
        file.unlink()

    with pytest.raises(StoreCorrupt, match="removed or replaced"):
        store.look()
    store.start_afresh()
    store.look()
    assert store.snapshots.count() == 0


def after_a_crash(file: Path, folder: Path) -> int:
    """Snapshots that another process finds in what lies there now."""
    folder.mkdir()
    for each in (file, log_of(file)):
        shutil.copy(each, folder / each.name)
    with contextlib.closing(sqlite3.connect(folder / file.name)) as opened:
        return int(opened.execute("SELECT count(*) FROM snapshots").fetchone()[0])


@pytest.mark.parametrize("moved", [True, False])
def test_a_log_that_was_removed_is_moved_into_the_file_and_begun_anew(
    store: Store, file: Path, reports: Reports, tmp_path: Path, moved: bool
) -> None:
    reports.come(10)
    if moved:
        store.checkpoint()
    log_of(file).unlink()
    reports.come(10)
    told = store.checkpoint()
    reports.come(5)

    assert told is not None and f"{file}-wal" in told.said("en") and f"{file}-wal" in told.said("ko")
    assert after_a_crash(file, tmp_path / "crash") == store.snapshots.count() == 25
    assert store.checkpoint() is None
    store.look()


def test_a_log_that_somebody_still_reads_is_moved_when_they_have_ended(
    store: Store, file: Path, reports: Reports, tmp_path: Path
) -> None:
    reports.come(10)
    with store.reading() as before:
        before.exec_driver_sql("SELECT count(*) FROM snapshots").scalar()
        reports.come(10)
        log_of(file).unlink()
        kept = store.checkpoint()
    told = store.checkpoint()
    reports.come(5)

    assert kept is None and told is not None
    assert after_a_crash(file, tmp_path / "crash") == 25


def test_a_look_goes_well_while_rows_are_deleted(store: Store) -> None:
    ended = threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            with store.writing() as connection:
                store.snapshots.add(connection, [NewSnapshot(1, NOW, NOW, 1, 1, b"body")])
            with store.writing() as connection:
                connection.exec_driver_sql("DELETE FROM snapshots")

    rows = threading.Thread(target=come_and_go)
    rows.start()
    try:
        for _ in range(500):
            store.look()
    finally:
        ended.set()
        rows.join()


def test_a_copy_that_was_put_in_place_is_set_aside_as_it_was(
    store: Store, file: Path, reports: Reports
) -> None:
    reports.come(10)
    copy = file.with_name("copy.sqlite3")
    with contextlib.closing(sqlite3.connect(file)) as theirs, contextlib.closing(sqlite3.connect(copy)) as to:
        theirs.backup(to)
    reports.come(20)
    os.replace(copy, file)

    with pytest.raises(StoreCorrupt, match="replaced"):
        store.look()
    aside = store.start_afresh()
    assert aside is not None
    with contextlib.closing(sqlite3.connect(aside)) as opened:  # not with the other file's log
        assert [(10,)] == opened.execute("SELECT count(*) FROM snapshots").fetchall()


def test_a_file_that_nobody_may_look_at_is_not_taken_for_another(store: Store, file: Path) -> None:
    moved = file.rename(file.with_name("kept"))
    file.symlink_to(file)  # a loop: not even root sees what is there

    with pytest.raises(StoreError) as told:
        store.look()
    file.unlink()
    moved.rename(file)
    store.look()
    assert not isinstance(told.value, StoreCorrupt)


def test_a_log_that_another_program_keeps_is_told_with_its_size_and_who_it_is(
    store: Store, file: Path, reports: Reports, another_program: Callable[[str], subprocess.Popen[str]]
) -> None:
    reader = another_program(READS_FOR_EVER)
    assert reader.stdout is not None and reader.stdout.readline() == "reads\n"
    reports.come(10)
    quiet = store.checkpoint()
    reports.come(40, size=2 << 20)
    told = store.checkpoint()
    again = store.checkpoint()
    reader.communicate()
    ended = store.checkpoint()
    reports.come(1)

    assert quiet is None and again is None
    assert told is not None and re.search(rf" 8\d MiB .*\(pid {reader.pid}\)", told.said("en"))
    assert f"(pid {reader.pid})" in told.said("ko")
    assert ended is not None and store.kept_log.warning is None
    assert Path(f"{file}-wal").stat().st_size <= MOST_LOG_BYTES


MOUNTS = """22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:40 / /srv/shared rw shared:2 - nfs4 10.0.0.5:/export rw,vers=4.2
41 40 0:41 / /srv/shared/fast rw - xfs /dev/nvme0n1 rw
42 22 0:42 / /mnt/two\\040words rw - cifs //nas/share rw
43 22 0:43 / /data rw - nfs 10.0.0.5:/old rw
44 43 0:44 / /data rw - ext4 /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("file", "network"),
    [
        ("/var/lib/gpudiag/store.sqlite3", None),
        ("/srv/shared/gpudiag/store.sqlite3", "nfs4"),
        ("/srv/sharedlike/store.sqlite3", None),
        ("/srv/shared/fast/store.sqlite3", None),
        ("/mnt/two words/store.sqlite3", "cifs"),
        ("/data/store.sqlite3", None),
    ],
)
def test_a_file_on_a_network_is_known(tmp_path: Path, file: str, network: str | None) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)

    assert network_of(Path(file), tmp_path / "mountinfo") == network
    assert network_of(Path(file), tmp_path / "nowhere") is None
