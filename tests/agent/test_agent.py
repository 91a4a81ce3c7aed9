"""The agent as a whole: driver and host in, reports out."""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
import zstandard

from gpudiag.agent import Agent, Observer, ScaledClock, ask, watch
from gpudiag.agent.local import NoAgent
from gpudiag.client import Client, Unreachable
from gpudiag.model import Snapshot
from tests.agent.machine import FakeHost
from tests.doubles.nvml import GIB, Nvml

FAST = 60  # seconds of the scenario in one real second


class Receiver:
    """An address on loopback that takes reports, answers as told, and remembers."""

    def __init__(self) -> None:
        self.status = 200
        self.got: list[Snapshot] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.take(body, self.headers["Content-Encoding"])
                answer = b'{"stored": 1, "duplicates": 0, "time": 0}'
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Retry-After", "2")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def take(self, body: bytes, encoding: str | None) -> None:
        content = body
        if encoding == "gzip":
            content = zlib.decompress(body, 31)
        elif encoding == "zstd":
            content = zstandard.ZstdDecompressor().decompress(body)
        if self.status == 200:
            self.got.append(msgspec.json.decode(content, type=Snapshot))

    def sequences(self) -> list[int]:
        return [snapshot.agent.sequence for snapshot in self.got if snapshot.agent]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def until(condition: object, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


class Running:
    """An agent in a thread, on a clock that runs fast."""

    def __init__(self, host: FakeHost, tmp_path: Path, api: object = None) -> None:
        self.clock = ScaledClock(FAST)
        self.runtime = tmp_path / "run"
        self.said: list[str] = []
        self.agent = Agent(
            Observer(
                node="node-1",
                clock=self.clock,
                proc=str(host.proc),
                sys=str(host.sys),
                kmsg=str(host.kmsg),
                state=tmp_path,
            ),
            api,  # type: ignore[arg-type]
            state=tmp_path,
            runtime=self.runtime,
            say=self.said.append,
        )
        self.ended: list[str] = []
        self.thread = threading.Thread(target=lambda: self.ended.append(self.agent.run()))

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.agent.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def takes(self, count: int) -> list[Snapshot]:
        """Waits until so many more snapshots were taken; all there are."""
        wanted = len(self.agent.history) + count
        until(lambda: len(self.agent.history) >= wanted)
        return self.agent.history

    def passes(self, seconds: float) -> Running:
        self.clock.wait(threading.Event(), seconds)
        return self


@pytest.fixture
def client(receiver: Receiver) -> Iterator[Client]:
    with Client(receiver.address, timeout=2.0) as client:
        yield client


# ---- reports


def test_a_report_carries_gpus_processes_host_and_events(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    nvml.gpu(0).holds(60 * GIB).computes(90, watts=600).runs_process(70, 59 * GIB, sm_percent=88)
    host.process(70, "python3", ["python3", "train.py"])
    host.logs("NVRM: Xid (PCI:0000:18:00): 31, pid=70, name=python3, Ch 8")
    with Running(host, tmp_path, client) as running:
        running.takes(3)
        until(lambda: len(receiver.got) >= 3)
    first, *_, last = receiver.got

    assert (last.node, last.source, last.driver_version) == ("node-1", "agent", "575.57.08")
    assert [gpu.utilization_percent for gpu in last.gpus] == [90, 0]
    assert [(process.pid, process.command) for process in last.processes] == [(70, "python3 train.py")]
    assert last.host is not None
    assert last.host.memory_total_bytes == 1_024_000
    assert [(event.kind, event.number) for event in first.events] == [("xid", 31)]
    assert last.events == []
    assert last.gpus[0].samples is not None
    assert last.gpus[0].samples.power_watts is not None
    assert 5 <= len(last.gpus[0].samples.power_watts) <= 14
    assert receiver.sequences() == list(range(len(receiver.got)))


def test_what_could_not_be_sent_is_sent_in_order_when_the_api_is_back(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    receiver.status = 503
    with Running(host, tmp_path, client) as running:
        running.takes(8)
        assert receiver.got == []
        receiver.status = 200
        until(lambda: len(receiver.got) >= 12)

    assert receiver.sequences() == list(range(len(receiver.got)))


def test_an_agent_that_is_stopped_keeps_what_it_could_not_send(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    receiver.status = 503
    with Running(host, tmp_path, client) as running:
        running.takes(4)
    receiver.status = 200
    with Running(host, tmp_path, client):
        until(lambda: len({s.agent.start_id for s in receiver.got if s.agent}) == 2)
    starts = list(dict.fromkeys(snapshot.agent.start_id for snapshot in receiver.got if snapshot.agent))
    per_start = [
        [s.agent.sequence for s in receiver.got if s.agent and s.agent.start_id == start] for start in starts
    ]

    assert len(starts) == 2
    assert [sequences == list(range(len(sequences))) for sequences in per_start] == [True, True]


class Nobody:
    """An API that hangs and then fails."""

    def send(self, snapshot: bytes) -> object:
        time.sleep(0.5)
        raise Unreachable("did not answer in time")


def test_a_network_that_hangs_does_not_slow_the_sampling(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path, Nobody()) as running:
        snapshots = running.takes(8)
    gaps = [b.taken_at - a.taken_at for a, b in itertools.pairwise(snapshots)]
    assert statistics.median(gaps) < 15  # one try to send takes 30


def test_a_hanging_driver_is_reported_while_it_hangs(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    with Running(host, tmp_path, client) as running:
        running.takes(1)
        nvml.call("*").hangs()
        running.takes(5)
        nvml.is_well_again()
        running.takes(3)
        until(lambda: receiver.sequences()[-1:] == [len(running.agent.history) - 1])
    silent = [s.nvml.silent_seconds for s in receiver.got if s.nvml and s.nvml.silent_seconds]

    assert len(silent) >= 3
    assert max(silent) > 30
    assert receiver.got[-1].nvml is not None
    assert receiver.got[-1].nvml.silent_seconds is None
    assert [gpu.error for gpu in receiver.got[-1].gpus] == [None, None]


def test_a_clock_that_jumps_moves_the_time_and_not_the_rhythm(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    with Running(host, tmp_path) as running:
        running.takes(3)
        running.clock.jumps(-3_600)
        snapshots = running.takes(3)
    steps = [b.taken_at - a.taken_at for a, b in itertools.pairwise(snapshots)]

    assert sum(step < -3_500 for step in steps) == 1
    assert all(gpu.samples is not None for snapshot in snapshots for gpu in snapshot.gpus)


def test_what_the_agent_may_not_see_is_told(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    host.kmsg.unlink()
    host.ends(2)
    with Running(host, tmp_path) as running:
        snapshot = running.takes(1)[-1]

    assert snapshot.agent is not None
    assert (snapshot.agent.kernel_log_readable, snapshot.agent.sees_all_processes) == (False, False)
    assert ("host", "kernel_log", "not_found") in [(g.subject, g.metric, g.reason) for g in snapshot.gaps]


def test_where_the_kernel_log_is_hidden_nvml_tells_of_xids(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    host.kmsg.unlink()
    with Running(host, tmp_path, client) as running:
        running.takes(2)
        nvml.reports_xid(1, 79)
        running.takes(2)
        until(lambda: any(snapshot.events for snapshot in receiver.got))
    events = [event for snapshot in receiver.got for event in snapshot.events]

    assert [(event.kind, event.number, event.gpu) for event in events] == [("xid", 79, 1)]


def test_a_replaced_driver_makes_the_agent_start_again(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    host.file("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.57.08  Release")
    with Running(host, tmp_path) as running:
        running.passes(15)
        host.file(
            "driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.10.01  Release"
        )
        nvml.driver_was_updated()
        running.thread.join(5)
        nvml.is_well_again()

    assert running.ended == ["restart"]


def test_a_driver_that_was_updated_before_we_came_is_reported_and_not_restarted(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    host.file("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.01.01  Release")
    nvml.driver_was_updated()
    with Running(host, tmp_path) as running:
        snapshot = running.takes(2)[-1]
        nvml.is_well_again()

    assert snapshot.nvml is not None
    assert snapshot.nvml.error == "library_mismatch"
    assert snapshot.driver_version == "570.01.01"
    assert running.ended == ["stopped"]


def test_a_part_that_answers_garbage_takes_no_other_with_it(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    host.file("meminfo", "MemTotal: lots\n")
    with Running(host, tmp_path) as running:
        snapshot = running.takes(1)[-1]

    assert [gpu.power_watts for gpu in snapshot.gpus] == [70, 70]
    assert snapshot.host is not None
    assert snapshot.host.memory_total_bytes is None
    assert ("host", "host", "unknown_error") in [(g.subject, g.metric, g.reason) for g in snapshot.gaps]


# ---- the door


def test_history_is_given_at_the_door(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as running:
        running.takes(4)
        everything = msgspec.json.decode(ask({"ask": "history"}, running.runtime), type=list[Snapshot])
        latest = msgspec.json.decode(
            ask({"ask": "history", "seconds": 15}, running.runtime), type=list[Snapshot]
        )

    assert [s.agent.sequence for s in everything if s.agent] == list(range(len(everything)))
    assert len(latest) < len(everything)


def test_the_gpus_are_let_go_of_on_request(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as running:
        running.takes(1)
        answer = msgspec.json.decode(ask({"ask": "release", "seconds": 120}, running.runtime))
        calls = nvml.calls()
        snapshot = running.takes(2)[-1]
        status = msgspec.json.decode(ask({"ask": "status"}, running.runtime))

        assert answer["released"] is True
        assert nvml.calls() == calls
        assert snapshot.nvml is not None
        assert snapshot.nvml.released is True
        assert status["released"] is True

        ask({"ask": "resume"}, running.runtime)
        assert running.takes(2)[-1].gpus[0].power_watts == 70


@pytest.mark.parametrize(
    "request_line", [b"nonsense\n", b"[1]\n", b'{"ask": "secrets"}\n', b"\n", b"x" * 10_000]
)
def test_a_visitor_who_talks_nonsense_gets_a_sentence(
    nvml: Nvml, host: FakeHost, tmp_path: Path, request_line: bytes
) -> None:
    import socket

    with Running(host, tmp_path) as running:
        running.passes(5)
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(running.runtime / "agent.sock"))
            door.sendall(request_line)
            answer = msgspec.json.decode(door.recv(4096))

    assert answer["error"]


def test_a_second_agent_leaves_the_first_ones_door_alone(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as first:
        first.passes(5)
        with Running(host, tmp_path) as second:
            second.passes(5)
        ask({"ask": "status"}, first.runtime)

    assert any("another agent runs here" in line for line in second.said)


def test_without_an_agent_the_sentence_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(NoAgent, match="gpudiag agent"):
        ask({"ask": "status"}, tmp_path)


# ---- without a server


def test_a_short_look_needs_no_server(nvml: Nvml, host: FakeHost) -> None:
    nvml.gpu(1).is_lost()
    observer = Observer(
        source="local",
        interval=2,
        clock=ScaledClock(20),
        proc=str(host.proc),
        sys=str(host.sys),
        kmsg=str(host.kmsg),
    )
    done: list[float] = []
    snapshots = watch(10, done.append, observer)

    assert len(snapshots) == 5
    assert {snapshot.source for snapshot in snapshots} == {"local"}
    assert snapshots[-1].gpus[1].error == "gpu_is_lost"
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0, abs=0.1)


def test_a_short_look_at_a_driver_that_hangs_takes_long_enough_to_tell(nvml: Nvml, host: FakeHost) -> None:
    nvml.call("*").hangs()
    observer = Observer(
        source="local", interval=2, clock=ScaledClock(20), proc=str(host.proc), sys=str(host.sys)
    )
    last = watch(6, observer=observer)[-1]
    nvml.is_well_again()

    assert last.nvml is not None
    assert last.nvml.silent_seconds is not None
    assert last.nvml.silent_seconds > 10


# ---- as a program


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())", *words]


def environment(nvml: Nvml, tmp_path: Path) -> dict[str, str]:
    folders = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "runtime")}
    return {**nvml.environment(), **folders}


def test_the_program_reports_answers_at_its_door_and_ends_on_a_signal(
    receiver: Receiver, tmp_path: Path
) -> None:
    with Nvml(gpus=2) as nvml:
        env = environment(nvml, tmp_path)
        agent = subprocess.Popen(
            command("agent", "--api", receiver.address, "--node", "node-7", "--interval", "1"),
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: len(receiver.got) >= 2)
            status = subprocess.run(command("agent", "status"), env=env, capture_output=True, text=True)
            record = subprocess.run(
                command("record", str(tmp_path / "past"), "--past", "--for", "1h"),
                env=env,
                capture_output=True,
                text=True,
            )
            release = subprocess.run(
                command("agent", "release", "--for", "5m"), env=env, capture_output=True, text=True
            )
        finally:
            agent.send_signal(signal.SIGTERM)
            _, said = agent.communicate(timeout=10)

    assert {snapshot.node for snapshot in receiver.got} == {"node-7"}
    assert "reports as node-7" in status.stdout
    assert "snapshots in" in record.stdout
    assert len((tmp_path / "past").read_text().splitlines()) >= 2
    assert "let go of the GPUs for 300 s" in release.stdout
    assert (agent.returncode, "Traceback" in said) == (0, False)


def test_an_agent_that_is_killed_loses_nothing_that_waited_and_sends_nothing_twice(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.status = 503
    with Nvml(gpus=1) as nvml:
        env = environment(nvml, tmp_path)
        words = command("agent", "--api", receiver.address, "--interval", "0.5")
        spool = tmp_path / "state" / "gpudiag" / "spool"
        agent = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        until(lambda: spool.exists() and len(list(spool.glob("*/*.snapshot"))) >= 4)
        agent.kill()
        agent.wait()
        waited = len(list(spool.glob("*/*.snapshot")))
        receiver.status = 200
        again = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        until(lambda: len(receiver.got) >= waited + 2)
        again.send_signal(signal.SIGTERM)
        again.wait(timeout=10)
    names = [(s.agent.start_id, s.agent.sequence) for s in receiver.got if s.agent]
    first = [sequence for start, sequence in names if start == names[0][0]]

    assert first == list(range(waited))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["agent", "--token-file", "/nowhere/token"], "token file /nowhere/token cannot be read"),
        (["agent", "--api", "nonsense"], "wants an address"),
        (["agent", "--interval", "soon"], "wants a span of time"),
        (["agent", "status"], "no agent answers on this host"),
        (["record", "/nowhere/file", "--for", "0.2s", "--interval", "0.2s"], "cannot be written"),
        (["replay", "/nowhere/file"], "cannot be read"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(tmp_path: Path, words: list[str], sentence: str) -> None:
    with Nvml(gpus=1) as nvml:
        result = subprocess.run(
            command(*words), env=environment(nvml, tmp_path), capture_output=True, text=True, timeout=20
        )

    assert result.returncode != 0
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_recording_is_diagnosed_again(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    with Nvml(gpus=2) as nvml:
        nvml.gpu(1).is_lost()
        env = environment(nvml, tmp_path)
        recorded = subprocess.run(
            command("record", str(file), "--for", "2s", "--interval", "0.5s", "--node", "node-9"),
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        replayed = subprocess.run(
            command("replay", str(file), "--json", "--lang", "en"),
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
    answer = msgspec.json.decode(replayed.stdout)

    assert "4 snapshots" in recorded.stdout
    assert (answer["node"], answer["verdict"]["rule"]) == ("node-9", "gpu-lost-bus")


def test_a_recording_is_sent_to_an_api(receiver: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    snapshots = [Snapshot(node="node-3", taken_at=float(second)) for second in range(5)]
    file.write_bytes(b"\n".join(msgspec.json.encode(snapshot) for snapshot in snapshots))
    result = subprocess.run(
        command("replay", str(file), "--api", receiver.address), capture_output=True, text=True, check=True
    )

    assert result.stdout.startswith("5 snapshots sent")
    assert [snapshot.taken_at for snapshot in receiver.got] == [0, 1, 2, 3, 4]


def test_a_line_that_is_no_snapshot_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"node": "a", "taken_at": 1}\n{"node": "a", "taken_at": "yesterday"}\n')
    result = subprocess.run(command("replay", str(file)), capture_output=True, text=True)

    assert result.returncode != 0
    assert "line 2 is no snapshot" in result.stderr
    assert os.linesep.join(result.stderr.splitlines()[1:]) == ""
