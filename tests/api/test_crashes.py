"""Real processes that are killed, cut off, and run on stores that fail."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from sqlalchemy.exc import TimeoutError as NoConnection

from api.store.engine import PAGE_BYTES
from gpudiag.client import ApiError, Busy, Client
from gpudiag.model import AgentReading, GpuReading, Snapshot
from tests.api.conftest import Api, ReportingNode
from tests.disks import fill, small_disk
from tests.store.conftest import postgresql, postgresql_server
from tests.waiting import PATIENCE_SECONDS, until

__all__ = ["postgresql", "postgresql_server"]

EVERY_SNAPSHOT = "SELECT n.name, s.sequence FROM snapshots s JOIN nodes n ON n.id = s.node_id"
START = """import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1)
from gpudiag.cli import main
sys.exit(main())"""


class Process:
    """`gpudiag serve` in a process of its own."""

    def __init__(self, store: str, *words: str, **popen: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "serve", "--port", "0", "--store", store, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen,
        )  # fmt: skip
        self.url = ""

    def ready(self) -> Process:
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
        line = self.process.stdout.readline() if readable else ""
        assert "serves at" in line, self.fails()
        self.url = line.split()[-1]
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; its threads are in\n{self.threads()}") from None
        return self.process.returncode

    def threads(self) -> str:
        """What each of its threads does, as it prints it; it is killed then."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        self.process.kill()
        return self.process.communicate()[1]

    def fails(self) -> str:
        """What it says when it does not start."""
        _, said = self.process.communicate(timeout=PATIENCE_SECONDS)
        return said


@pytest.fixture
def serve() -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def start(store: str, *words: str, **popen: Any) -> Process:
        made.append(Process(store, *words, **popen))
        return made[-1]

    yield start
    for process in made:
        if process.process.poll() is None:
            process.kill()
        for stream in (process.process.stdout, process.process.stderr):
            if stream is not None:
                stream.close()


def snapshot(node: str, sequence: int, at: float | None = None, **shows: Any) -> bytes:
    known = {"utilization_percent": 5.0, "memory_used_bytes": 1, "memory_total_bytes": 2, **shows}
    agent = AgentReading(start_id=f"start-{node}", sequence=sequence)
    gpus = [GpuReading(index=0, uuid=f"GPU-{node}", **known)]
    return msgspec.json.encode(Snapshot(node=node, taken_at=at or time.time(), agent=agent, gpus=gpus))


class Reporter(threading.Thread):
    """An agent's way to report: in order, each again until it is acknowledged."""

    def __init__(self, node: str, address: Callable[[], str], first: int = 1) -> None:
        super().__init__()
        self.node, self.address, self.next = node, address, first
        self.acknowledged: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        client, url = None, ""
        while not self.ended.is_set():
            if client is None or url != self.address():
                if client is not None:
                    client.close()
                url = self.address()
                client = Client(url, timeout=5)
            try:
                client.send(snapshot(self.node, self.next))
            except ApiError:
                time.sleep(0.02)
                continue
            self.acknowledged.append(self.next)
            self.next += 1
        if client is not None:
            client.close()


def report_on(reporters: list[Reporter], more: int = 20) -> None:
    """Waits until each of them has so many more reports acknowledged."""
    wanted = [len(reporter.acknowledged) + more for reporter in reporters]
    until(lambda: all(len(one.acknowledged) >= count for one, count in zip(reporters, wanted, strict=True)))


def stored_sequences(path: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    with sqlite3.connect(path) as connection:
        rows = connection.execute(EVERY_SNAPSHOT)
        for node, sequence in rows:
            found.setdefault(node, []).append(sequence)
    connection.close()
    return found


def test_killed_under_load_nothing_acknowledged_is_lost_and_none_is_twice(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    running = serve(store).ready()
    reporters = [Reporter(f"node-{i}", lambda: running.url) for i in range(6)]
    for reporter in reporters:
        reporter.start()
    try:
        for _ in range(3):
            report_on(reporters)
            running.kill()
            running = serve(store).ready()
        report_on(reporters)
    finally:
        for reporter in reporters:
            reporter.ended.set()
        for reporter in reporters:
            reporter.join()
    running.kill()

    found = stored_sequences(tmp_path / "store.sqlite3")
    for reporter in reporters:
        assert set(reporter.acknowledged) <= set(found[reporter.node])
        assert len(found[reporter.node]) == len(set(found[reporter.node]))


def test_told_to_stop_it_writes_what_it_has_and_ends_well(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    running = serve(store).ready()
    with Client(running.url) as client:
        client.send([snapshot("node-1", i, time.time() - 100 + 10 * i) for i in range(10)])

    assert running.stop() == 0
    assert not (tmp_path / "store.sqlite3-wal").exists()
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        assert connection.execute("SELECT count(*) FROM windows").fetchone() == (1,)
    connection.close()


def test_a_damaged_store_is_set_aside_and_service_goes_on(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    (tmp_path / "store.sqlite3").write_bytes(b"this was a database once " * 4_000)

    running = serve(f"sqlite:///{tmp_path}/store.sqlite3").ready()

    with Client(running.url) as client:
        assert client.send(snapshot("node-1", 1))["stored"] == 1
        assert "set aside" in client._get("/readyz")["note"]
    aside = list(tmp_path.glob("store.sqlite3.damaged-*"))
    assert [path.read_bytes()[:4] for path in aside] == [b"this"]
    assert running.stop() == 0


def test_a_store_damaged_while_it_runs_stops_no_service(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    path = tmp_path / "store.sqlite3"
    running = serve(f"sqlite:///{path}").ready()
    with Client(running.url, timeout=PATIENCE_SECONDS) as client:
        for sequence in range(40):
            client.send([snapshot(f"node-{i}", sequence) for i in range(20)])
        size, noise = path.stat().st_size, random.Random(1)
        for file in (path, Path(f"{path}-wal")):
            with file.open("r+b") as damaged:
                damaged.write(noise.randbytes(max(size, file.stat().st_size)))

        for sequence in range(40, 400):
            until(lambda sequence=sequence: is_taken(client, snapshot("node-1", sequence)))  # type: ignore[misc]
        assert client.diagnosis("node-1")["node"] == "node-1"
    running.kill()

    running = serve(f"sqlite:///{path}").ready()
    with Client(running.url) as client:
        assert client.send(snapshot("node-1", 500))["stored"] == 1
    assert list(tmp_path.glob("store.sqlite3.damaged-*"))


def is_taken(client: Client, report: bytes) -> bool:
    """Whether it is stored now or was, as an agent wants to know that comes again after a refusal."""
    try:
        answer = client.send(report)
    except Busy:
        return False
    return bool(answer["stored"] + answer["duplicates"])


def test_damage_that_no_report_meets_is_met_by_the_clock_and_the_store_set_aside(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    path = tmp_path / "store.sqlite3"
    running = serve(f"sqlite:///{path}").ready()
    with Client(running.url, timeout=30) as client:
        client.send([snapshot("node-1", sequence, time.time() - 400 + sequence) for sequence in range(400)])
        with sqlite3.connect(path) as connection:
            page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'windows'").fetchone()
            until(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
        connection.close()
        with path.open("r+b") as damaged:
            damaged.seek((page[0] - 1) * PAGE_BYTES)
            damaged.write(b"\xa5" * PAGE_BYTES)
        assert client.send(snapshot("node-1", 500))["stored"] == 1

    assert running.stop() == 0
    assert len(list(tmp_path.glob("store.sqlite3.damaged-*"))) >= 1
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_store_that_was_overwritten_where_nobody_reads_is_set_aside_by_the_next_look(
    api: Api, node: ReportingNode, tmp_path: Path
) -> None:
    node.passes(minutes=60)
    api.parts.store.checkpoint()
    node.passes(minutes=1)  # the log begins anew
    script = (
        "import os, sys; f = open(sys.argv[1], 'r+b'); f.seek(16384); f.write(os.urandom(int(sys.argv[2])))"
    )
    path = tmp_path / "store.sqlite3"
    words = [sys.executable, "-c", script, str(path), str(path.stat().st_size - PAGE_BYTES)]
    subprocess.run(words, check=True)
    node.passes(minutes=1)
    before = api.ask("GET", "/readyz")

    until(lambda: api.parts.clockwork.look_now() or api.parts.store.damaged)

    assert before["status"] == "ready" and "note" not in before
    node.passes(minutes=1)
    after = api.ask("GET", "/readyz")
    assert after["status"] == "ready" and "set aside" in after["note"]
    assert "node-3" == api.client.diagnosis("node-3")["node"]
    assert 6 == api.parts.store.snapshots.count()


def test_windows_that_another_version_packed_are_left_out_and_told_once(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    running = serve(store).ready()
    with Client(running.url) as client:
        for node in ("node-1", "node-2"):
            client.send([snapshot(node, i, time.time() - 1_000 + 10 * i) for i in range(90)])
    running.stop()
    packed = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode([b"row by row", [], []]))
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        assert connection.execute("UPDATE windows SET packed = ?", (packed,)).rowcount == 2
    connection.close()

    running = serve(store).ready()
    with Client(running.url) as client:
        answers = [client.diagnosis(node)["node"] for node in ("node-1", "node-2")]
    running.process.terminate()

    assert answers == ["node-1", "node-2"]
    assert running.fails().count("another version packed") == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_whose_connections_are_all_in_use_is_told_and_answers_again(
    make_api: Callable[..., Api], request: pytest.FixtureRequest, kind: str
) -> None:
    api = make_api(request.getfixturevalue("postgresql") if kind == "postgresql" else None)
    ReportingNode("node-3", api).passes(seconds=20)
    taken = []
    with pytest.raises(NoConnection):
        while True:
            taken.append(api.parts.store.engine.connect())
    with pytest.raises(Busy, match="connections to it are in use") as caught:
        api.ask("GET", "/v1/nodes/node-3/history?at=1s")
    alive = api.ask("GET", "/healthz")
    for connection in taken:
        connection.close()

    assert (alive["status"], caught.value.retry_after > 0) == ("ok", True)
    assert api.ask("GET", "/v1/nodes/node-3/history?at=1s")["node"] == "node-3"


def test_a_store_without_space_refuses_and_recovers(serve: Callable[..., Process], tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "2m") as small:
        running = serve(f"sqlite:///{small}/store.sqlite3").ready()
        with Client(running.url) as client:
            client.send(snapshot("node-1", 1))
            filling = fill(small)
            with pytest.raises(Busy, match="no space is left") as caught:
                for sequence in range(2, 2_000):
                    client.send(snapshot("node-1", sequence))
            assert caught.value.retry_after > 0
            assert client.diagnosis("node-1")["node"] == "node-1"
            with pytest.raises(Busy):
                client._get("/readyz")

            filling.unlink()
            assert client.send(snapshot("node-1", 5_000))["stored"] == 1
            assert client._get("/readyz")["status"] == "ready"
        running.stop()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Make a folder read-only, also for root."""
    made: list[Path] = []

    def make(folder: Path) -> None:
        if os.getuid() != 0:
            folder.chmod(0o555)
            return
        for words in (["--bind", str(folder), str(folder)], ["-o", "remount,ro,bind", str(folder)]):
            done = subprocess.run(["mount", *words], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"root writes everywhere, and nothing can be mounted here: {done.stderr.strip()}")
            made.append(folder)

    yield make
    for folder in made[:1]:
        subprocess.run(["umount", "-l", folder], check=False)
    for folder in tmp_path.iterdir():
        folder.chmod(0o755)


@pytest.mark.parametrize("there", [True, False])
def test_a_store_that_may_not_be_written_is_said_in_one_line(
    serve: Callable[..., Process], tmp_path: Path, read_only: Callable[[Path], None], there: bool
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    store = f"sqlite:///{folder}/store.sqlite3"
    if there:
        serve(store).ready().stop()
    read_only(folder)

    process = serve(store)
    said = process.fails()

    assert "cannot be written" in said or "read-only" in said
    assert "--store" in said and len(said.strip().splitlines()) == 1
    assert process.process.returncode == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "x"], "--port wants a port"),
        (["--keep", "forever"], "--keep wants a span"),
        (["--keep", "7"], "--keep wants an hour or more, such as 12h, 7d or 4w; got '7'"),
        (["--host", "0.0.0.0"], "there are no tokens yet"),
        (["--config", "/nowhere.toml"], "/nowhere.toml cannot be read"),
    ],
)
def test_it_says_why_it_does_not_start(
    serve: Callable[..., Process], tmp_path: Path, words: list[str], said: str
) -> None:
    process = serve(f"sqlite:///{tmp_path}/store.sqlite3", *words)

    told = process.fails()

    assert said in told
    assert "Traceback" not in told
    assert process.process.returncode in (2, 3)


def test_a_second_server_on_the_same_file_is_refused(serve: Callable[..., Process], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    serve(store).ready()

    process = serve(store)

    assert "another gpudiag" in process.fails()
    assert process.process.returncode == 3


# ------------------------------------------------------------------- several processes, one PostgreSQL


def test_two_processes_on_postgresql_answer_as_one(serve: Callable[..., Process], postgresql: str) -> None:
    one, two = serve(postgresql).ready(), serve(postgresql).ready()
    with Client(one.url) as first, Client(two.url) as second:
        start = time.time() - 400
        for sequence in range(40):  # a balancer in front: every report may come to another process
            client = (first, second)[sequence % 2]
            client.send(snapshot("node-1", sequence, start + 10 * sequence))

        answers = [client.diagnosis("node-1") for client in (first, second)]
        for answer in answers:
            answer["observed"].pop("age_seconds")

        assert answers[0] == answers[1]
        assert answers[0]["observed"]["coverage_ratio"] > 0.9
        assert first.nodes()["items"][0]["verdict"] == second.nodes()["items"][0]["verdict"]
        feeds = [client.findings()["items"] for client in (first, second)]
        assert feeds[0] == feeds[1]
        ids = [item["finding"]["id"] for item in feeds[0] if item["what"] == "opened"]
        assert len(ids) == len(set(ids))


def test_an_acknowledgement_is_seen_by_the_other_process(
    serve: Callable[..., Process], postgresql: str
) -> None:
    one, two = serve(postgresql).ready(), serve(postgresql).ready()
    with Client(one.url) as first, Client(two.url) as second:
        start = time.time() - 400
        first.send([snapshot("node-1", i, start + 10 * i, error="gpu_is_lost") for i in range(40)])
        opened = first.findings()["items"][-1]["finding"]["id"]
        second.diagnosis("node-1")

        second.ack(opened, by="kim")
        first.send(snapshot("node-1", 41, error="gpu_is_lost"))

        assert first.finding(opened)["state"] == "acknowledged"
        assert second.finding(opened)["state"] == "acknowledged"


def address(running: list[Process], number: int) -> str:
    """Where one of several processes listens; another one after it was killed."""
    return running[number].url


def test_killed_under_load_on_postgresql(serve: Callable[..., Process], postgresql: str) -> None:
    import psycopg

    running = [serve(postgresql).ready(), serve(postgresql).ready()]
    reporters = [Reporter(f"node-{i}", partial(address, running, i % 2)) for i in range(6)]
    for reporter in reporters:
        reporter.start()
    try:
        for number in range(2):
            report_on(reporters)
            running[number].kill()
            running[number] = serve(postgresql).ready()
        report_on(reporters)
    finally:
        for reporter in reporters:
            reporter.ended.set()
        for reporter in reporters:
            reporter.join()

    with psycopg.connect(postgresql) as connection:
        rows = connection.execute(EVERY_SNAPSHOT).fetchall()
    for reporter in reporters:
        found = [sequence for node, sequence in rows if node == reporter.node]
        assert set(reporter.acknowledged) <= set(found)
        assert len(found) == len(set(found))


def allows_files(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_nodes_are_connected_than_files_are_allowed_at_first(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    started = serve(f"sqlite:///{tmp_path}/s.sqlite3", preexec_fn=allows_files(128, 1_024)).ready()
    host, port = started.url.removeprefix("http://").split(":")
    connected = [socket.create_connection((host, int(port))) for _ in range(200)]
    with contextlib.closing(Client(started.url)) as client:
        answer = client.nodes()
    for each in connected:
        each.close()

    assert answer["items"] == []
    started.process.send_signal(signal.SIGTERM)
    _, said = started.process.communicate(timeout=PATIENCE_SECONDS)
    assert "may open 1024 files at once" in said and "LimitNOFILE=" in said
