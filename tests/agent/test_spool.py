"""Snapshots that wait on disk: in order, bounded, whole after a crash."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.agent.spool import Spool
from tests.disks import fill, small_disk


def drained(spool: Spool) -> list[bytes]:
    found = []
    while (snapshot := spool.oldest()) is not None:
        found.append(snapshot)
        spool.done()
    return found


def test_what_waits_comes_back_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(20):
        spool.add(b"snapshot %d" % number)

    assert drained(spool) == [b"snapshot %d" % number for number in range(20)]
    assert os.listdir(tmp_path) == []


def test_a_restarted_agent_finds_what_waited_and_adds_behind_it(tmp_path: Path) -> None:
    Spool(tmp_path).add(b"before")
    spool = Spool(tmp_path)
    spool.add(b"after")

    assert drained(spool) == [b"before", b"after"]


def test_a_full_spool_drops_the_oldest_and_counts_the_loss(tmp_path: Path) -> None:
    spool = Spool(tmp_path, largest_bytes=5_000)
    noise = random.Random(1)
    snapshots = [noise.randbytes(1_000) for _ in range(20)]
    for snapshot in snapshots:
        spool.add(snapshot)
    kept = drained(spool)

    assert kept == snapshots[-len(kept) :]
    assert 3 <= len(kept) <= 5
    assert spool.lost == 20 - len(kept)


def test_half_written_and_spoilt_files_are_passed_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(3):
        spool.add(b"snapshot %d" % number)
    first = min(tmp_path.iterdir())
    first.write_bytes(first.read_bytes()[:5])
    (tmp_path / "0000000000000009.snapshot.part").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("not ours")
    again = Spool(tmp_path)

    assert drained(again) == [b"snapshot 1", b"snapshot 2"]
    assert again.lost == 1
    assert sorted(os.listdir(tmp_path)) == ["notes.txt"]


def test_names_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    Spool(tmp_path).add(b"ours")
    for name in ("\N{SUPERSCRIPT TWO}.snapshot", f"{'9' * 200}.snapshot", "notes.txt"):
        (tmp_path / name).write_bytes(b"?")
    (tmp_path / "kept.part").mkdir()

    spool = Spool(tmp_path)
    spool.add(b"next")

    assert drained(spool) == [b"ours", b"next"]
    assert 4 == len(os.listdir(tmp_path))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", "64k") as folder:
        yield folder


def test_a_full_disk_drops_the_oldest_and_counts_the_loss(disk: Path) -> None:
    noise = random.Random(1)
    snapshots = [noise.randbytes(6_000) for _ in range(12)]
    spool = Spool(disk / "spool")
    for snapshot in snapshots[:3]:
        spool.add(snapshot)
    fill(disk)
    kept = [spool.add(snapshot) for snapshot in snapshots[3:]]

    assert kept == [True] * 9
    assert "no space is left" in str(spool.problem)
    assert drained(spool) == snapshots[-3:]
    assert spool.lost == 9


def test_a_disk_that_is_full_without_us_loses_the_snapshot_and_nothing_later(disk: Path) -> None:
    spool = Spool(disk)
    filling = fill(disk)
    lost = spool.add(b"lost")
    filling.unlink()

    assert (lost, spool.add(b"kept")) == (False, True)
    assert (drained(spool), spool.lost, spool.problem) == ([b"kept"], 1, None)


def test_a_file_that_may_not_grow_loses_the_snapshot_and_says_what_to_do(tmp_path: Path) -> None:
    program = """
import sys
import threading
from pathlib import Path
import resource, signal
from gpudiag.agent.spool import Spool
from tests.disks import fill, small_disk
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
spool = Spool(Path(sys.argv[1]))
import random
print(spool.add(b"small"), spool.add(random.Random(1).randbytes(5000)), spool.lost, spool.problem)
print(spool.add(b"small"), len(spool), spool.problem)
"""
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    first, second = result.stdout.splitlines()

    assert first.startswith("True False 1 snapshots cannot be kept in")
    assert "Free space" in first
    assert second == "True 2 None"


def test_a_link_to_nowhere_does_not_keep_the_agent_from_starting(tmp_path: Path) -> None:
    Spool(tmp_path).add(b"ours")
    (tmp_path / "0000000000000007.snapshot").symlink_to(tmp_path / "nowhere")

    assert drained(Spool(tmp_path)) == [b"ours"]


def test_what_cannot_be_read_just_now_is_not_given_up(tmp_path: Path) -> None:
    program = """
import os, sys, resource
from pathlib import Path
from gpudiag.agent.spool import Spool
from tests.disks import fill, small_disk
spool = Spool(Path(sys.argv[1]))
spool.add(b"kept")
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
print(spool.oldest(), spool.lost, spool.problem)
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
print(spool.oldest(), spool.lost, spool.problem)
"""
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    first, second = result.stdout.splitlines()

    assert first.startswith("None 0 snapshots cannot be kept in")
    assert second == "b'kept' 0 None"


def test_two_that_add_at_one_time_lose_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    threads = [
        threading.Thread(target=lambda n=n: [spool.add(b"%d-%d" % (n, m)) for m in range(20)])
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(drained(spool))) == 60


def test_a_folder_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.add(b"gone with the folder")
    shutil.rmtree(tmp_path / "spool")

    assert spool.add(b"kept") is True
    assert (spool.oldest(), spool.lost) == (b"kept", 1)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spool = Spool(tmp_path / "file" / "spool")

    assert spool.problem is not None
    assert spool.add(b"x") is False


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["add", "done", "restart"]), max_size=40))
def test_order_holds_over_any_sequence(steps: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        spool, expected, number = Spool(Path(folder)), [], 0
        for step in steps:
            if step == "add":
                number += 1
                spool.add(b"%d" % number)
                expected.append(b"%d" % number)
            elif step == "done" and expected:
                assert spool.oldest() == expected.pop(0)
                spool.done()
            elif step == "restart":
                spool = Spool(Path(folder))

        assert drained(spool) == expected


def test_what_is_set_aside_takes_a_bounded_place_and_is_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path, largest_bytes=80_000)
    for number in range(10):
        spool.add(b'{"number": %d, "more": "' % number + b"x" * 3_000 + b'"}')
    files = [spool.set_aside() for _ in range(10)]

    assert (0, 10) == (len(spool), spool.lost)
    assert sorted(tmp_path.glob("set-aside/*")) == files[-3:]
    assert [] == [path for path in tmp_path.iterdir() if path.is_file()]


def test_a_restarted_agent_leaves_alone_what_was_set_aside(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(b"large")
    spool.add(b"next")
    spool.set_aside()

    assert [b"next"] == drained(Spool(tmp_path))
    assert 1 == len(list(tmp_path.glob("set-aside/*.jsonl")))
