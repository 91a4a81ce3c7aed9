"""Reports: counted once, in the server's time, refused with the exact place, never the end of the server."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import socket
import threading
import zlib
from typing import Any

import msgspec
import pytest
import zstandard

from api.reports.writer import MOST_WAITING
from gpudiag.client import PACKINGS, SENT_AT, Busy, Client, Refused
from gpudiag.window import W5
from tests.api.conftest import Api, ReportingNode


def changed(body: bytes, **values: Any) -> bytes:
    snapshot = msgspec.json.decode(body)
    snapshot.update(values)
    return msgspec.json.encode(snapshot)


@pytest.fixture
def one(node: ReportingNode) -> bytes:
    return node.unsent(seconds=10)[0]


def refused(api: Api, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
    with pytest.raises(Refused) as caught:
        api.ask("POST", "/v1/snapshots", body, headers)
    assert api.ask("GET", "/healthz")["status"] == "ok"
    return caught.value.problem


# -------------------------------------------------------------------------------------- counted once


def test_a_report_that_comes_again_counts_once(api: Api, one: bytes) -> None:
    assert stored(api.send(one)) == (1, 0)
    assert stored(api.send(one)) == (0, 1)
    assert stored(api.send(one, one)) == (0, 2)
    api.restart()
    assert stored(api.send(one)) == (0, 1)
    assert api.parts.store.snapshots.count() == 1


def stored(answer: dict[str, Any]) -> tuple[int, int]:
    return answer["stored"], answer["duplicates"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_reports_come_packed_or_not(api: Api, node: ReportingNode, packing: str) -> None:
    api.client.packing = packing
    node.now -= 600

    assert api.client.send(node.unsent(minutes=1))["stored"] == 6
    assert api.client.send(node.unsent(seconds=10)[0])["stored"] == 1
    api.restart()
    assert api.client.diagnosis("node-3")["node"] == "node-3"


def test_an_hour_of_spooled_reports_is_judged_in_its_own_time(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm()
    spooled = node.unsent(minutes=60)
    api.clock.now = node.now + 1

    for first in range(0, len(spooled), 100):
        api.send(*spooled[first : first + 100])

    said = api.client.diagnosis("node-3")
    assert said["verdict"]["rule"] == "kv-pool-reserved-idle"
    opened = [
        i["at"] for i in api.client.findings()["items"] if i["finding"]["rule"] == "kv-pool-reserved-idle"
    ]
    assert opened[0] < said["observed"]["from"]


def test_what_came_late_is_folded_in_where_it_belongs(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=10)
    node.gpu(0).shows(utilization_percent=100.0)
    node.logs("xid", "NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.", number=79,
              bus_id="0000:19:00.0")  # fmt: skip
    late = node.unsent(minutes=2)
    node.gpu(0).shows(utilization_percent=0.0)
    node.passes(minutes=1)
    api.send(*late)
    on_time = api.open_findings("node-3")

    api.time_passes(20)

    assert "gpu-lost-bus" not in on_time
    assert "gpu-lost-bus" in api.open_findings("node-3")
    window = api.parts.judge.state("node-3").window
    assert window.gpus_in_order()[0].share("spinning", W5) == pytest.approx(120 / 300)
    assert window.covers(W5) and window.time == node.now


def test_a_node_that_still_sends_its_past_is_not_called_silent_for_what_came_late(
    api: Api, node: ReportingNode
) -> None:
    node.passes(minutes=5)
    kept = node.unsent(minutes=30)
    api.clock.now = node.now
    api.send(kept[3], *kept[:3])
    before, silences = api.parts.judge.state("node-3").window, told_silent(api)
    for snapshot in kept[4:8]:
        api.clock.now += 5
        api.send(snapshot)
        api.time_passes(0)

    window = api.parts.judge.state("node-3").window
    assert window is not before and window.time == msgspec.json.decode(kept[7])["taken_at"]
    assert told_silent(api) == silences


def test_who_is_late_all_the_time_has_the_window_built_anew_now_and_then(
    api: Api, node: ReportingNode
) -> None:
    node.passes(minutes=5)
    windows = []
    for _ in range(6):
        first, second = node.unsent(minutes=1)[:2]
        api.clock.now = node.now
        api.send(second, first)
        api.time_passes(16)
        windows.append(api.parts.judge.state("node-3").window)
        node.now = api.clock.now

    assert len({id(window) for window in windows}) == 2  # at once, and after five minutes


def told_silent(api: Api) -> int:
    return sum(item["finding"]["rule"] == "agent-stale" and item["what"] == "opened"
               for item in api.client.findings()["items"])  # fmt: skip


def test_two_agents_whose_reports_cross_do_not_have_the_window_built_anew_all_the_time(api: Api) -> None:
    first, second = ReportingNode("node-3", api), ReportingNode("node-3", api)
    second.agent.start_id = "another-machine"
    for _ in range(12):
        first.reports()
        second.now = first.now - 7
        second.reports()
    window = api.parts.judge.state("node-3").window

    api.time_passes(20)

    assert api.parts.judge.state("node-3").window is window


# ------------------------------------------------------------------------------------ in server time


def test_a_wrong_clock_is_measured_and_told(api: Api, node: ReportingNode) -> None:
    wrong_by = 4_000.0
    for body in node.serves_idle_vllm().unsent(minutes=6):
        snapshot = json.loads(body)
        api.clock.now = snapshot["taken_at"] + 0.2
        headers = {SENT_AT: str(api.clock.now - wrong_by)}
        api.ask("POST", "/v1/snapshots", changed(body, taken_at=snapshot["taken_at"] - wrong_by), headers)

    said = api.client.diagnosis("node-3")

    assert said["observed"]["age_seconds"] < 30
    assert "clock-skew" in [finding["rule"] for finding in said["findings"]]
    assert "kv-pool-reserved-idle" in api.open_findings("node-3")


def arrive(api: Api, node: ReportingNode, seconds: float, waited: list[float], slow_by: float = 0.0) -> None:
    """Reports of so long, each of which was on its way for one of `waited`, by a clock that is slow."""
    for body, late in zip(node.unsent(seconds=seconds), waited, strict=True):
        taken = json.loads(body)["taken_at"]
        api.clock.now = max(api.clock.now, taken + late)
        api.ask(
            "POST", "/v1/snapshots", changed(body, taken_at=taken - slow_by), {SENT_AT: str(taken - slow_by)}
        )


@pytest.mark.parametrize("waited", [[45.0, 35.0, 25.0, 15.0], [45.0, 0.0, 40.0, 0.0]])
def test_reports_that_waited_on_their_way_blame_no_clock(
    api: Api, node: ReportingNode, waited: list[float]
) -> None:
    node.serves_idle_vllm()
    arrive(api, node, 120, [0.1] * 12)
    arrive(api, node, 40, waited)  # as where the server or the network stood still
    arrive(api, node, 60, [0.1] * 6)

    assert "clock-skew" not in {item["finding"]["rule"] for item in api.client.findings()["items"]}


def test_a_clock_that_is_set_back_is_told_by_the_second_report(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm()
    arrive(api, node, 120, [0.1] * 12)
    arrive(api, node, 20, [0.1] * 2, slow_by=600.0)

    assert "clock-skew" in {finding["rule"] for finding in api.client.diagnosis("node-3")["findings"]}


def test_the_future_is_refused(api: Api, one: bytes) -> None:
    problem = refused(api, changed(one, taken_at=api.clock.now + 3_600), {SENT_AT: str(api.clock.now)})

    assert problem["status"] == 422
    assert "taken_at" in problem["detail"] and "future" in problem["detail"]


def test_what_would_be_deleted_at_once_is_refused(api: Api, one: bytes) -> None:
    problem = refused(api, changed(one, taken_at=api.clock.now - 3e6), {SENT_AT: str(api.clock.now)})

    assert problem["status"] == 422


def test_two_agents_with_one_name_are_told(api: Api) -> None:
    first, second = ReportingNode("node-3", api), ReportingNode("node-3", api)
    second.agent.start_id = "another-machine"
    first.passes(minutes=1)
    second.now = first.now + 3

    for _ in range(3):
        second.reports()
        first.now = second.now + 3
        first.reports()

    assert any("Two agents" in note for note in api.client.diagnosis("node-3")["notes"])


def test_an_agent_that_restarts_is_one_agent(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    node.agent.start_id = "after-the-restart"
    node.agent.sequence = 0
    node.passes(minutes=1)

    assert api.client.diagnosis("node-3")["notes"] == []


# -------------------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"taken_at": "n/a"}, "taken_at"),
        ({"gpus": [{"index": 0}, {"index": 1, "power_watts": "n/a"}]}, "gpus[1].power_watts"),
        ({"gpus": "none"}, "gpus"),
        ({"node": ""}, "node"),
        ({"node": "../../etc"}, "node"),
        ({"node": "<script>"}, "node"),
        ({"node": "a" * 300}, "node"),
        ({"node": 5}, "node"),
        ({"taken_at": -1}, "taken_at"),
        ({"taken_at": 1e300}, "taken_at"),
        ({"agent": None}, "agent"),
        ({"agent": {"start_id": "", "sequence": 1}}, "agent.start_id"),
        ({"agent": {"start_id": "x" * 500, "sequence": 1}}, "agent.start_id"),
        ({"agent": {"start_id": "x", "sequence": -1}}, "agent.sequence"),
        ({"agent": {"start_id": "x", "sequence": 1 << 63}}, "agent.sequence"),
        ({"agent": {"start_id": "x", "sequence": 1, "interval_seconds": 0}}, "agent.interval_seconds"),
        ({"schema": 2}, "schema"),
        ({"source": "made-up"}, "source"),
        ({"processes": [{"pid": i} for i in range(5_000)]}, "processes"),
    ],
)
def test_a_wrong_snapshot_is_refused_at_its_place(
    api: Api, one: bytes, wrong: dict[str, Any], place: str
) -> None:
    problem = refused(api, changed(one, **wrong))

    assert problem["status"] == 422
    assert f"refused at {place}" in problem["detail"]
    assert api.client.nodes()["items"] == []


def test_one_wrong_snapshot_of_several_refuses_all(api: Api, one: bytes) -> None:
    problem = refused(api, b"[" + one + b"," + changed(one, gpus=[{"index": "x"}]) + b"]")

    assert problem["detail"] == 'snapshots[1] refused at gpus[0].index: expected a whole number, got "x"'
    assert api.client.nodes()["items"] == []


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[", b'{"node":', b"[1, 2]", b"null", b"\xff\xfe", b'"text"', b"{}", b"[[]]",
     b'{"node": "x", "taken_at": NaN}', b"[" * 100_000, b'{"a":' * 50_000],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused(api: Api, body: bytes) -> None:
    assert refused(api, body)["status"] in (400, 422)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_before_it_is_unpacked(api: Api, encoding: str) -> None:
    zeros = b"0" * (300 << 20)
    bomb = zlib.compress(zeros, 9, 31) if encoding == "gzip" else zstandard.ZstdCompressor(19).compress(zeros)
    assert len(bomb) < 1 << 20
    del zeros

    assert refused(api, bomb, {"Content-Encoding": encoding})["status"] == 413


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip", b"not gzip", 400),
        ("gzip", gzip.compress(b"{}" * 1_000)[:-20], 400),
        ("gzip", gzip.compress(b"{}") + b"more", 400),
        ("zstd", b"not zstd", 400),
        ("zstd", zstandard.ZstdCompressor().compress(b"{}" * 5_000)[:-5], 400),
        ("br", b"{}", 415),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_refused(api: Api, encoding: str, body: bytes, status: int) -> None:
    assert status == refused(api, body, {"Content-Encoding": encoding})["status"]


def test_a_huge_body_is_refused(api: Api) -> None:
    assert refused(api, b"[" + b" " * (5 << 20) + b"]")["status"] == 413


@pytest.mark.parametrize("path", ["/v1/snapshots", "/diagnose"])
def test_a_huge_body_in_chunks_is_refused_and_not_cut(api: Api, path: str) -> None:
    chunks = [b" " * 0x10000] * 70
    with contextlib.closing(http.client.HTTPConnection(api.url.removeprefix("http://"))) as connection:
        connection.request("POST", path, chunks, {"Content-Type": "text/plain"}, encode_chunked=True)
        with connection.getresponse() as answer:
            said = answer.read().decode()

    assert answer.status == 413
    assert "4 MiB" in said


def test_too_many_snapshots_at_once_are_refused(api: Api, one: bytes) -> None:
    small = changed(one, gpus=[], processes=[])

    assert refused(api, b"[" + b",".join([small] * 501) + b"]", None)["status"] == 413


def test_fields_of_a_newer_agent_are_ignored(api: Api, one: bytes) -> None:
    newer = changed(one, from_the_future={"a": [1, 2]}, gpus=[{"index": 0, "quantum_percent": 3}])

    assert stored(api.send(newer)) == (1, 0)


def test_an_older_agent_that_knows_little_is_taken(api: Api) -> None:
    older = {"node": "old", "taken_at": api.clock.now, "agent": {"start_id": "s", "sequence": 1}}

    assert stored(api.send(msgspec.json.encode(older))) == (1, 0)
    assert api.client.diagnosis("old")["verdict"]["severity"] == "unknown"


@pytest.mark.parametrize(
    "gpu",
    [
        {"index": 0, "memory_used_bytes": 1 << 40, "memory_total_bytes": 80 << 30},
        {"index": 0, "memory_used_bytes": 4_294_967_295, "power_watts": 4_294_967_295.0},
        {"index": 0, "utilization_percent": -5, "memory_total_bytes": 0, "memory_used_bytes": 0},
        {"index": 0, "power_watts": 1.7e308, "temperature_celsius": -1e300},
        {"index": -1, "uuid": "", "name": "", "bus_id": "x:y:z"},
        {"index": 0, "samples": {"utilization_percent": [], "power_watts": [None, None, 1.0]}},
        {"index": 0, "memory_used_bytes": 10**400, "ecc_uncorrected_volatile": 10**30},
        {"index": 0, "clocks_event_reasons": -1, "samples": {"clocks_event_reasons": [1 << 62, -9]}},
    ],
)
def test_nonsense_of_the_driver_stops_nothing(api: Api, node: ReportingNode, gpu: dict[str, Any]) -> None:
    for body in node.unsent(minutes=2):
        api.clock.now += 10
        try:
            api.send(changed(body, gpus=[gpu, {"index": 1}]))
        except Refused as error:
            assert error.problem["status"] == 422
    node.passes(minutes=1)

    assert api.client.diagnosis("node-3")["node"] == "node-3"
    assert "node-3" in api.ask("GET", "/diagnose?node=node-3", headers={"Accept": "text/plain"})


HOSTILE = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\n\u202e``` & @here \x00"


def test_hostile_names_reach_no_surface(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm()
    node.runs({0: 1 << 30}, pid=666, name=HOSTILE, command=HOSTILE, user=HOSTILE)
    node.gpu(0).reading.name = HOSTILE
    node.passes(minutes=6)

    surfaces = {
        path: api.ask("GET", path, headers={"Accept": accept})
        for path, accept in (
            ("/diagnose/node-3", "text/plain"),
            ("/diagnose", "text/plain"),
            ("/v1/nodes/node-3?lang=en", "application/json"),
            ("/metrics", "text/plain"),
            ("/v1/findings", "application/json"),
            ("/nodes/node-3", "text/html"),
            ("/", "text/html"),
        )
    }

    for path, said in surfaces.items():
        shown = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        assert not {"\x1b", "\x07", "\u202e", "\x00"} & set(shown), path
        if path.startswith("/nodes") or path == "/":
            assert "<script>alert" not in shown, path


def test_a_full_queue_says_come_back(api: Api, node: ReportingNode) -> None:
    release = threading.Event()
    blocker = threading.Thread(target=lambda: api.parts.writer.do(release.wait))
    blocker.start()
    node.now -= 3_600
    bodies = node.unsent(minutes=(MOST_WAITING + 40) / 6)
    busy: list[Busy] = []

    def send(body: bytes) -> None:
        with Client(api.url, timeout=30) as client:
            try:
                client.send(body)
            except Busy as error:
                busy.append(error)

    api.clock.now = node.now
    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads[:]:
        thread.join(0.02)
    release.set()
    for thread in threads:
        thread.join()
    blocker.join()

    assert len(bodies) == len(busy) + api.parts.store.snapshots.count()
    if busy:
        assert busy[0].retry_after > 0


def test_broken_http_harms_nobody(api: Api) -> None:
    for raw in (
        b"POST /v1/snapshots HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01\x02\x00",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/snapshots HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", int(api.url.rsplit(":", 1)[1]))) as connection:
            connection.sendall(raw)
    assert api.ask("GET", "/healthz")["status"] == "ok"
