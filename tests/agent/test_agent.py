"""The agent as a whole: driver and host in, reports out."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from pathlib import Path

import msgspec
import pytest

from gpudiag.agent.spool import Spool
from gpudiag.client import Client, Unreachable
from gpudiag.model import Snapshot
from tests.agent.loopback import TAKEN, Receiver
from tests.agent.machine import FakeHost
from tests.agent.running import Running
from tests.doubles.nvml import GIB, Nvml
from tests.waiting import until


def test_a_report_carries_gpus_processes_host_and_events(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    nvml.gpu(0).holds(60 * GIB).computes(90, watts=600).runs_process(70, 59 * GIB, sm_percent=88)
    host.process(70, "python3", ["python3", "train.py"])
    host.logs("NVRM: Xid (PCI:0000:18:00): 31, pid=70, name=python3, Ch 8")
    with Running(host, tmp_path, client) as running:
        until(lambda: len(receiver.got) >= 3 and tells_all(receiver.got[-1]))
        told, seconds = receiver.got[:], running.clock.monotonic()
    first, last = told[0], next(snapshot for snapshot in reversed(told) if tells_all(snapshot))

    assert (last.node, last.source, last.driver_version) == ("node-1", "agent", "575.57.08")
    assert [gpu.utilization_percent for gpu in last.gpus] == [90, 0]
    assert [(process.pid, process.command) for process in last.processes] == [(70, "python3 train.py")]
    assert last.host is not None
    assert last.host.memory_total_bytes == 1_024_000
    assert [(event.kind, event.number) for event in first.events] == [("xid", 31)]
    assert last.events == []
    assert sum(len(power_of(snapshot)) for snapshot in told) <= seconds + len(told)  # each sample once
    assert receiver.sequences() == list(range(len(receiver.got)))


def power_of(snapshot: Snapshot) -> list[float | None]:
    """The samples of the first GPU's power."""
    samples = snapshot.gpus[0].samples if snapshot.gpus else None
    return (samples.power_watts or []) if samples is not None else []


def tells_all(snapshot: Snapshot) -> bool:
    """Whether the driver's answers were all there in time."""
    return len(power_of(snapshot)) >= 5 and not any(gap.reason == "timeout" for gap in snapshot.gaps)


def is_read(snapshot: Snapshot) -> bool:
    """Whether both GPUs told their power."""
    return [gpu.power_watts for gpu in snapshot.gpus] == [70, 70]


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


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", b"<html>log in to the hotel</html>"),
        (200, "application/json", b"[" * 100_000),
        (301, "text/html", b"<h1>Moved</h1>"),
        (400, "text/html", b"<h1>400 Bad Request</h1>"),
        (401, "application/problem+json", b"{}"),
        (403, "text/html", b"<h1>Request blocked</h1>"),
        (404, "application/problem+json", b"not here"),
        (405, "application/json", b'{"detail": "Method Not Allowed"}'),
        (413, "text/html", b"<h1>413 Request Entity Too Large</h1>"),
        (415, "text/html", b"<h1>415 Unsupported Media Type</h1>"),
        (422, "application/json", b'{"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}'),
        (429, "text/plain", b""),
        (500, "text/plain", b"Traceback (most recent call last)"),
        (502, "application/problem+json", b"\xff\xfe"),
    ],
)
def test_whatever_answers_instead_of_the_api_nothing_is_lost(
    nvml: Nvml,
    host: FakeHost,
    tmp_path: Path,
    receiver: Receiver,
    client: Client,
    status: int,
    kind: str,
    body: bytes,
) -> None:
    receiver.status, receiver.kind, receiver.body = status, kind, body
    with Running(host, tmp_path, client) as running:
        until(lambda: running.said)
        running.takes(3)
        receiver.body, receiver.status = TAKEN, 200
        until(lambda: set(range(5)) <= set(receiver.sequences()))

    assert len(set(receiver.sequences())) == len(receiver.got)
    assert any(receiver.address in line or "is the address right?" in line for line in running.said)
    assert not any("Traceback" in line or "Error:" in line for line in running.said)


@pytest.mark.parametrize("refuses", [("zstd",), ("zstd", "gzip")])
def test_a_proxy_that_lets_no_packed_body_through_loses_nothing(
    nvml: Nvml,
    host: FakeHost,
    tmp_path: Path,
    receiver: Receiver,
    client: Client,
    refuses: tuple[str, ...],
) -> None:
    receiver.refuses = refuses
    with Running(host, tmp_path, client) as running:
        running.takes(3)
        until(lambda: len(receiver.got) >= 3)

    assert receiver.sequences() == list(range(len(receiver.got)))
    assert running.said == []


OURS = b'{"detail": "refused at gpus[0]", "service": "gpudiag"}'


@pytest.mark.parametrize("status", [413, 422])
def test_what_the_api_refuses_for_good_is_counted_and_holds_up_nothing(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client, status: int
) -> None:
    receiver.status, receiver.body = status, OURS
    with Running(host, tmp_path, client) as running:
        until(lambda: receiver.answered[status] >= 2)
        receiver.body, receiver.status = TAKEN, 200
        until(lambda: len(receiver.got) >= 3)
    last = receiver.got[-1].agent

    assert last is not None
    assert last.lost_snapshots >= 2
    assert receiver.sequences() == list(range(last.sequence + 1))[-len(receiver.got) :]
    assert any("refused at gpus[0]" in line for line in running.said)


def test_an_agent_that_stops_keeps_what_hangs_in_the_network(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.delay = 6.0
    with Client(receiver.address, timeout=4.0) as client:
        with Running(host, tmp_path, client) as running:
            running.takes(2)
        waiting = Spool(tmp_path / "spool" / "node-1")
        first = msgspec.json.decode(waiting.oldest() or b"", type=Snapshot).agent
        until(lambda: not any(thread.name == "sender" for thread in threading.enumerate()))

    assert len(waiting) >= 2
    assert first is not None and first.sequence == 0


class Nobody:
    """An API that hangs and then fails."""

    def send(self, snapshot: bytes) -> object:
        time.sleep(2.0)
        raise Unreachable("did not answer in time")


def test_a_network_that_hangs_does_not_slow_the_sampling(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path, Nobody()) as running:
        snapshots = running.takes(8)
    gaps = [b.taken_at - a.taken_at for a, b in itertools.pairwise(snapshots)]

    assert statistics.median(gaps) < 60  # one try to send takes 120


def test_a_hanging_driver_is_reported_while_it_hangs(
    nvml: Nvml, host: FakeHost, tmp_path: Path, receiver: Receiver, client: Client
) -> None:
    with Running(host, tmp_path, client) as running:
        running.takes(1)
        nvml.call("*").hangs()
        running.takes(5)
        nvml.is_well_again()
        until(lambda: is_read(receiver.got[-1]) and not silent_seconds(receiver.got[-1]))
    silent = [seconds for snapshot in receiver.got if (seconds := silent_seconds(snapshot))]

    assert len(silent) >= 3
    assert max(silent) > 30


def silent_seconds(snapshot: Snapshot) -> float | None:
    return snapshot.nvml.silent_seconds if snapshot.nvml is not None else None


def test_a_clock_that_jumps_moves_the_time_and_not_the_rhythm(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    with Running(host, tmp_path) as running:
        before = len(running.takes(3))
        running.clock.jumps(-3_600)
        snapshots = running.takes(3)
        until(lambda: any(map(tells_all, running.agent.history[before + 1 :])))
    steps = [b.taken_at - a.taken_at for a, b in itertools.pairwise(snapshots)]

    assert sum(step < 0 for step in steps) == 1


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
        until(lambda: nvml.calls("nvmlDeviceRegisterEvents") == len(nvml.gpus))
        nvml.reports_xid(1, 79)
        running.takes(2)
        until(lambda: any(snapshot.events for snapshot in receiver.got))
    events = [event for snapshot in receiver.got for event in snapshot.events]

    assert [(event.kind, event.number, event.gpu) for event in events] == [("xid", 79, 1)]


def test_a_replaced_driver_makes_the_agent_start_again(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    host.file("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.57.08  Release")
    with Running(host, tmp_path) as running:
        until(lambda: any(map(is_read, running.agent.history)))
        host.file(
            "driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.10.01  Release"
        )
        nvml.driver_was_updated()
        until(lambda: running.ended)
        nvml.is_well_again()

    assert running.ended == ["restart"]


def test_a_driver_that_was_updated_before_we_came_is_reported_and_not_restarted(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    host.file("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.01.01  Release")
    nvml.driver_was_updated()
    with Running(host, tmp_path) as running:
        snapshot = until(lambda: next(filter(is_mismatch, running.agent.history), None))
        running.takes(1)
        nvml.is_well_again()

    assert snapshot.driver_version == "570.01.01"
    assert running.ended == ["stopped"]


def test_an_agent_that_sees_no_gpu_says_so_once_and_says_when_there_are_some(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    nvml.driver_was_updated()
    with Running(host, tmp_path) as running:
        until(lambda: running.said)
        running.takes(2)
        nvml.is_well_again()
        until(lambda: len(running.said) >= 2)

    assert running.said == [
        "no GPU is seen: kernel module and library differ in version. What to do: gpudiag why",
        "GPUs are seen now: 2",
    ]


def test_an_agent_on_a_host_without_a_gpu_says_so(host: FakeHost, tmp_path: Path) -> None:
    host.sys_file("bus/pci/devices/0000:00:1f.0/vendor", "0x8086\n")
    with Nvml(gpus=0).load(), Running(host, tmp_path) as running:
        running.takes(2)

    assert running.said == [
        "no NVIDIA GPU is on this host's bus: the reports say so. If there should be one: gpudiag why"
    ]


def is_mismatch(snapshot: Snapshot) -> bool:
    return snapshot.nvml is not None and snapshot.nvml.error == "library_mismatch"


def test_a_part_that_answers_garbage_takes_no_other_with_it(
    nvml: Nvml, host: FakeHost, tmp_path: Path
) -> None:
    host.file("meminfo", "MemTotal: lots\n")
    with Running(host, tmp_path) as running:
        snapshot = until(lambda: next(filter(is_read, running.agent.history), None))

    assert snapshot.host is not None
    assert snapshot.host.memory_total_bytes is None
    assert ("host", "host", "unknown_error") in [(g.subject, g.metric, g.reason) for g in snapshot.gaps]
