"""What no machine says, and what a hostile one would: refused with its place, or shown without its teeth."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import msgspec
import pytest

from api.reports.intake import BadSnapshot, TooLarge, snapshots_of
from api.reports.tidying import LONGEST_TEXT, is_plain
from gpudiag.client import ApiError, Refused
from gpudiag.model import Samples
from tests.api.conftest import Api, ReportingNode

HOSTILE = "\x1b[31m\x1b]0;owned\x07\r\nnext \u202e\u2066 \x9b1m <img src=x> \u2028\x7f"
NEVER_SHOWN = "\x1b\x07\x9b\x7f\u202e\u2066\u2028"


def snapshot(**more: Any) -> dict[str, Any]:
    gpu = {
        "index": 0, "uuid": "GPU-1e12-5e30", "name": "H100", "memory_total_bytes": 80 << 30,
        "memory_used_bytes": 70 << 30, "utilization_percent": 0.0,
    }  # fmt: skip
    agent = {"start_id": "s", "sequence": time.monotonic_ns()}
    return {"node": "node-1", "taken_at": time.time(), "agent": agent, "gpus": [gpu], **more}


def post(api: Api, path: str, body: Any) -> int:
    """The status, whichever it is."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return int(api.client._exchange("POST", path, raw, {"Content-Type": "application/json"}).status)


def get(api: Api, path: str) -> tuple[int, str]:
    answer = api.client._exchange("GET", path, None, {})
    return answer.status, answer.body.decode()


def refusal(api: Api, body: Any) -> str:
    with pytest.raises(ApiError) as caught:
        api.ask("POST", "/v1/snapshots", body if isinstance(body, bytes) else msgspec.json.encode(body))
    assert caught.value.problem["status"] == 422
    return str(caught.value.problem["detail"])


def with_gpu(**more: Any) -> dict[str, Any]:
    body = snapshot()
    body["gpus"][0] |= more
    return body


ABSURD = [
    (with_gpu(power_watts=1e308), "gpus[0].power_watts"),
    (with_gpu(fan_rpm=-(10**30)), "gpus[0].fan_rpm"),
    (with_gpu(samples={"power_watts": [70.0, 1e300]}), "gpus[0].samples.power_watts[1]"),
    (snapshot(processes=[{"pid": 1, "started_at": 1e30}]), "processes[0].started_at"),
    (snapshot(host={"booted_at": -1e30}), "host.booted_at"),
    (snapshot(events=[{"kind": "xid", "text": "Xid", "at": 1e30}]), "events[0].at"),
]


@pytest.mark.parametrize(("body", "place"), ABSURD, ids=[place for _, place in ABSURD])
def test_a_number_that_no_machine_has_is_refused_with_its_place(api: Api, body: Any, place: str) -> None:
    raw = json.dumps(body).encode()  # msgspec writes no number beyond 64 bits

    assert f"refused at {place}:" in refusal(api, raw)
    assert post(api, "/diagnose", raw) == 422
    assert api.client.nodes()["items"] == []


@pytest.mark.parametrize("at", [-5.0, 4e15, 2**62])
def test_a_moment_that_no_calendar_has_is_not_shown(api: Api, at: float) -> None:
    events = [{"kind": "xid", "number": 79, "gpu": 0, "text": "Xid 79", "at": at, "last_at": at}]
    processes = [{"pid": 1, "started_at": at, "gpus": [{"gpu": 0, "memory_used_bytes": 1 << 30}]}]
    body = snapshot(events=events, processes=processes, host={"booted_at": at})

    assert post(api, "/v1/snapshots", body) == 200
    assert api.client.diagnosis("node-1")["gpus"][0]["processes"][0]["started_at"] is None
    assert 200 == get(api, "/diagnose")[0]


def test_four_hundred_digits_are_refused(api: Api) -> None:
    raw = msgspec.json.encode(snapshot()).replace(b"75161927680", b"1" + b"0" * 400)

    assert "gpus[0].memory_used_bytes" in refusal(api, raw)


def test_what_a_driver_says_for_not_known_is_taken(api: Api) -> None:
    body = with_gpu(memory_used_bytes=2**64 - 1, fan_rpm=4_294_967_295, temperature_celsius=-1.0)

    assert post(api, "/v1/snapshots", body) == 200
    assert api.client.diagnosis("node-1")["node"] == "node-1"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"gpus": [{"index": i} for i in range(257)]}, "gpus: has more than 256"),
        ({"gpus": [{"index": 0}, {"index": 0}]}, "gpus: names the same index twice"),
        (
            {"processes": [{"pid": i, "gpus": [{"gpu": g} for g in range(64)]} for i in range(200)]},
            "processes: name more than 8192",
        ),
    ],
)
def test_more_than_one_machine_has_is_refused_at_once(api: Api, parts: dict[str, Any], said: str) -> None:
    began = time.process_time()

    assert said in refusal(api, snapshot(**parts))
    assert post(api, "/diagnose", snapshot(**parts)) == 422
    assert time.process_time() - began < 2.0  # of the server too, which is in this process


@pytest.mark.parametrize(
    ("begin", "entry", "count", "end", "said"),
    [
        ('{"gpus":[', '{"index":0},', 2_000_000, "{}]}", "snapshot unpacks to 22 MiB"),
        ('{"gpus":[', '{"index":0},', 300_000, "{}]}", "snapshot holds 300002 objects"),
        ('{"gpus":[{"samples":{"power_watts":[', "0,", 900_000, "0]}}]}", "snapshot holds 900000 values"),
        ("[", "0,", 2_000_000, "0]", "snapshots refused at [0]: expected an object, got 0"),
        ("[", "0,", 15_000_000, "0]", "body holds 15000000 values"),
        ("[", "{},", 400_000, "{}]", "400001 snapshots in one request"),
        ("[", "{},", 10_000_000, "{}]", "body holds 10000001 objects"),
        ('[{"notes":[', '"",', 400_000, '""]},{}]', "snapshots[0] holds 400000 values"),
    ],
)
def test_what_would_take_seconds_to_read_is_refused_before(
    begin: str, entry: str, count: int, end: str, said: str
) -> None:
    """Packed it is a few kilobytes, and one thread reads for all."""
    body = (begin + entry * count + end).encode()

    with pytest.raises((TooLarge, BadSnapshot), match=re.escape(said)):
        snapshots_of(body)


def test_a_large_machine_says_less_than_what_is_refused() -> None:
    seconds = {
        name: [float(i) for i in range(60)] for name in Samples.__struct_fields__ if name[-5:] != "bytes"
    }
    seconds |= {"memory_used_bytes": [1 << 36] * 60, "clocks_event_reasons": [4] * 60}
    cores = list(range(768))
    gpus = [{"index": i, "samples": seconds, "cpu_affinity": cores} for i in range(16)]
    uses = [{"gpu": i, "memory_used_bytes": 1 << 30} for i in range(4)]
    processes = [{"pid": i, "command": "{}" * 100, "gpus": uses, "cpus_allowed": cores} for i in range(200)]
    body = msgspec.json.encode(snapshot(gpus=gpus, processes=processes))

    assert len(snapshots_of(body)) == 1
    assert len(snapshots_of(b"[" + b",".join([body] * 16) + b"]")) == 16


def hostile() -> dict[str, Any]:
    process = dict.fromkeys(
        ("name", "command", "user", "state", "pod", "namespace", "container", "slurm_job", "unit",
         "parent_name", "wait_channel"), HOSTILE,
    )  # fmt: skip
    return snapshot(
        gpus=[
            {"index": 0, "memory_total_bytes": 80 << 30, "memory_used_bytes": 79 << 30,
             **dict.fromkeys(("uuid", "bus_id", "name", "pstate", "compute_mode"), HOSTILE),
             "mig_devices": [{"index": 0, "profile": HOSTILE}]},
            {"index": 1, "error": "gpu_is_lost", "name": HOSTILE},
        ],
        processes=[{**process, "pid": 7, "gpus": [{"gpu": 0, "memory_used_bytes": 9, "type": HOSTILE}]}],
        engines=[{"name": HOSTILE, "engine": "vllm", "model": HOSTILE, "gpus": [0], "pid": 7}],
        events=[{"kind": "xid", "number": 79, "gpu": 1, "text": HOSTILE, "process": HOSTILE}],
        gaps=[{"subject": "node", "metric": HOSTILE, "reason": HOSTILE, "detail": HOSTILE}],
        notes=[HOSTILE],
        labels={HOSTILE: HOSTILE},
        driver_version=HOSTILE,
    )  # fmt: skip


SURFACES = (
    "/v1/nodes/node-1", "/diagnose/node-1", "/diagnose/node-1?lang=ko", "/nodes/node-1", "/v1/nodes", "/",
    "/diagnose", "/v1/findings", "/metrics", "/v1/mutes",
)  # fmt: skip


def test_no_surface_shows_what_moves_a_terminal(api: Api) -> None:
    assert post(api, "/v1/snapshots", hostile()) == 200
    opened = api.client.findings()["items"][0]["finding"]["id"]
    api.client.ack(opened, by=HOSTILE, why=HOSTILE)
    asked = {"node": "node-1", "seconds": 60, "by": HOSTILE, "why": HOSTILE}
    assert post(api, "/v1/mutes", asked) == 201

    said = {path: get(api, path)[1] for path in SURFACES}
    for path, body in (("/v1/nodes/node-1/maintenance", asked), ("/diagnose", hostile())):
        said[f"POST {path}"] = api.client._exchange("POST", path, msgspec.json.encode(body), {}).body.decode()

    assert {} == {path: bad for path, text in said.items() if (bad := [s for s in NEVER_SHOWN if s in text])}
    assert "owned" in said["/diagnose/node-1"]
    assert "<img" not in said["/nodes/node-1"]


def test_a_card_that_holds_more_than_it_can_draws_no_bar_without_end(api: Api) -> None:
    gpu = {"index": 0, "memory_total_bytes": 1, "memory_used_bytes": 1 << 44, "utilization_percent": 0.0}
    body = msgspec.json.encode(snapshot(gpus=[gpu]))
    answer = api.client._exchange("POST", "/diagnose", body, {"Accept": "text/plain"})

    assert answer.status == 200
    assert b"(GPU 0): [" in answer.body and len(answer.body) < 20_000


def test_a_report_without_its_control_characters_is_stored_as_such(api: Api) -> None:
    post(api, "/v1/snapshots", hostile())

    api.restart()

    assert "\x1b" not in str(api.client.diagnosis("node-1"))


def test_a_name_of_megabytes_is_cut_before_anybody_judges_by_it(api: Api) -> None:
    body = snapshot()
    body["gpus"][0]["name"] = "H" * (3 << 20)

    assert post(api, "/v1/snapshots", body) == 200
    assert len(api.parts.judge.nodes["node-1"].window.latest.gpus[0].name) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        ('{"uuid":"GPU-1e12-5e30","at":1.5e-7}', True),
        ('{"name":"김연아 é \\\\x \\"q\\""}', True),
        ('{"a":123456789012345678901}', False),
        ('{"a":"\\u001b"}', False),
        ('{"a":"\u202e"}', False),
        ('{"a":"\x7f"}', False),
    ],
)
def test_what_has_to_be_looked_at_closely(body: str, plain: bool) -> None:
    assert plain == is_plain(body.encode())


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00", "1e10", "-62135596801"]
)
def test_a_moment_outside_every_calendar_is_no_failure(api: Api, at: str) -> None:
    post(api, "/v1/snapshots", snapshot())

    for path in ("/v1/nodes/node-1", "/diagnose/node-1", "/nodes/node-1", "/v1/nodes/node-1/history"):
        assert get(api, f"{path}?at={at}")[0] in (200, 400, 404)


@pytest.mark.parametrize("at", ["25:70", "24:00", "9:5", "9999-12-31T23:59:59Z", "99999999999"])
def test_a_moment_that_no_clock_shows_or_that_is_still_to_come_is_refused(api: Api, at: str) -> None:
    ReportingNode("node-3", api).passes(minutes=1)

    with pytest.raises(Refused, match="at="):
        api.client.diagnosis("node-3", at=at)


@pytest.mark.parametrize("path", ["/v1/nodes/node-3?window=7d", "/v1/nodes/node-3/history?span=7d&at=1m"])
def test_nobody_has_a_week_judged_again(api: Api, path: str) -> None:
    """Every snapshot of it would be read, and the server kept from everything else."""
    ReportingNode("node-3", api).passes(minutes=2)

    with pytest.raises(Refused, match="longer than a day"):
        api.ask("GET", path)
