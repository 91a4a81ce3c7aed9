"""What the server does by its own clock goes on, whatever happens to the store or to the clock."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from api.clockwork import Watch
from api.judging.rounds import Rounds
from gpudiag.window import W6H, W30, Window
from tests.api.conftest import Api, ReportingNode
from tests.waiting import PATIENCE_SECONDS, until


def windows() -> int:
    return sum(isinstance(one, Window) for one in gc.get_objects())


def rename(store: Path, table: str, to: str) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO {to}")
    connection.close()


def test_windows_are_loaded_though_the_store_could_not_be_read_at_first(
    api: Api, node: ReportingNode, tmp_path: Path
) -> None:
    node.passes(minutes=2)
    api.stop()
    rename(tmp_path / "store.sqlite3", "windows", "elsewhere")
    api.start()
    until(lambda: api.parts.writer.trouble is not None)

    rename(tmp_path / "store.sqlite3", "elsewhere", "windows")

    until(lambda: bool(api.parts.clockwork.all_loaded))


def test_keeping_the_windows_holds_up_nobody_who_has_a_node(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=2)
    state, store = api.parts.judge.nodes["node-3"], api.parts.store
    written = threading.Event()

    def write() -> None:
        with store.writing() as connection:
            store.snapshots.add_node(connection, "node-4", api.clock.now)
        written.set()

    stopping = threading.Thread(target=api.parts.clockwork.stop, daemon=True)
    with state.lock:  # as somebody who acknowledges what was found on it
        stopping.start()
        until(lambda: "gpudiag-keeper" not in {thread.name for thread in threading.enumerate()})
        time.sleep(0.2)
        threading.Thread(target=write, daemon=True).start()
        assert written.wait(PATIENCE_SECONDS)
    stopping.join(PATIENCE_SECONDS)

    assert not stopping.is_alive()
    assert store.snapshots.packed(state.id) is not None


def test_a_node_is_judged_on_when_the_servers_clock_was_set_back(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=5)
    api.clock.now -= 3_600
    node.now -= 3_600
    node.gpu(0).shows(utilization_percent=97.0, power_watts=650.0)
    node.passes(minutes=1)
    said = api.client.diagnosis("node-3")

    assert said["gpus"][0]["readings"]["utilization_percent"] == 97.0
    assert said["observed"]["age_seconds"] < 30


def test_an_agent_that_restarts_is_one_agent_though_the_clock_was_set_back(
    api: Api, node: ReportingNode
) -> None:
    node.passes(minutes=1)
    api.clock.now, node.now = api.clock.now + 7_200, node.now + 7_200
    node.passes(minutes=1)
    api.clock.now, node.now = api.clock.now - 3_600, node.now - 3_600
    node.passes(minutes=1)
    node.agent.start_id, node.agent.sequence = "after-the-restart", 0
    node.passes(minutes=1)

    assert api.client.diagnosis("node-3")["notes"] == []


@pytest.mark.parametrize("packed_at", [330.0, 870.0])  # seconds after a full quarter of an hour
def test_a_crash_takes_nothing_of_the_quarter_of_an_hour_that_it_hit(
    make_api: Callable[..., Api], tmp_path: Path, packed_at: float
) -> None:
    api = make_api()
    api.clock.now += packed_at - api.clock.now % 900.0 - 3_600.0
    node = ReportingNode("node-3", api)
    for minute in range(60):
        node.all_gpus(utilization_percent=100.0 if minute % 7 < 4 else 0.0).passes(minutes=1)
    api.restart()  # the windows are packed
    node.all_gpus(utilization_percent=50.0).passes(minutes=14)
    for file in tmp_path.glob("store.sqlite3*"):
        shutil.copy(file, tmp_path / file.name.replace("store", "after-the-crash"))
    after = make_api(f"sqlite:///{tmp_path}/after-the-crash.sqlite3")

    before, again = (
        [one.parts.judge.state("node-3").window.gpus_in_order()[0].track.series("quiet", span)
         for span in (W30, W6H)]
        for one in (api, after)
    )  # fmt: skip
    assert len(before[1]) >= 4
    assert again == before


def test_the_list_shows_a_verdict_as_soon_as_it_changes(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=5)
    before = api.client.nodes()["items"][0]["verdict"]["severity"]
    node.loses_its_gpu().passes(seconds=10)

    assert before != "critical"
    assert "critical" == api.client.nodes()["items"][0]["verdict"]["severity"]
    assert ["node-3"] == [item["node"] for item in api.ask("GET", "/v1/nodes?severity=critical")["items"]]


def test_since_when_a_verdict_holds_is_known_after_a_restart(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm().passes(minutes=7)
    before = api.client.nodes()["items"][0]
    api.restart()
    node.passes(minutes=1)
    after = api.client.nodes()["items"][0]

    assert (before["verdict"], before["changed_at"]) == (after["verdict"], after["changed_at"])


def test_the_memory_of_a_forgotten_node_is_free_without_the_collector(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=2)
    api.client.diagnosis("node-3")
    window = weakref.ref(api.parts.judge.nodes["node-3"].window)
    gc.freeze()  # as once a minute: what is found then is never looked at again
    try:
        api.ask("DELETE", "/v1/nodes/node-3")

        until(lambda: window() is None)
    finally:
        gc.unfreeze()


def test_what_a_question_was_answered_from_is_free_without_the_collector(
    api: Api, node: ReportingNode
) -> None:
    node.passes(minutes=5)
    past = api.clock.now - 60
    gc.collect()
    gc.disable()
    before = windows()
    try:
        api.ask("GET", f"/diagnose/node-3?at={past:.0f}")
        api.ask("POST", "/diagnose", node.taken[-1], {"Content-Type": "application/json"})
        api.ask("GET", f"/v1/nodes/node-3/history?at={past:.0f}&span=5m")

        until(lambda: windows() <= before)
    finally:
        gc.enable()


def test_a_node_that_no_server_listened_to_for_long_enough_is_not_called_well(
    api: Api, node: ReportingNode
) -> None:
    node.passes(minutes=5)
    for _ in range(4):  # it starts again every 40 s
        api.time_passes(10.0)
        api.restart()
        api.time_passes(30.0)

    verdict = api.client.diagnosis("node-3")["verdict"]
    assert (verdict["severity"], verdict["gpu"]) == ("unknown", None)
    assert verdict["headline"] == "cannot tell yet: no report from node-3 since this server began to listen"
    assert verdict["severity"] == api.client.nodes()["items"][0]["verdict"]["severity"]
    assert "agent-stale" not in {item["finding"]["rule"] for item in api.client.findings()["items"]}

    node.now = api.clock.now
    node.passes(seconds=10)
    assert api.client.diagnosis("node-3")["verdict"]["rule"] == "gpu-free"


def test_a_round_that_reports_interrupt_goes_on_where_it_was(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("node-1", "node-2", "node-3"):
        ReportingNode(name, api).reports()
    looked_at: list[str] = []
    rounds = Rounds(api.parts.judge)
    monkeypatch.setattr(rounds, "_look_at", lambda state, now: looked_at.append(state.name))

    assert not rounds.go_on(api.clock.now, lambda: len(looked_at) == 2)
    assert rounds.go_on(api.clock.now, lambda: False)
    assert looked_at == ["node-1", "node-2", "node-3"]

    rounds.tick(api.clock.now)
    assert looked_at[3:] == ["node-1", "node-2", "node-3"]


def test_a_fault_stays_told_while_nothing_was_heard_yet(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=1)
    api.stop()
    api.clock.now += 3600.0
    api.start()
    api.time_passes(5.0)

    assert api.client.diagnosis("node-3")["verdict"]["rule"] == "gpu-lost-bus"


def jumps(api: Api, node: ReportingNode, seconds: float) -> None:
    """The server's clock goes ahead, and the clockwork notices; the node's stays right."""
    clockwork = api.parts.clockwork
    api.clock.now += seconds
    api.parts.writer.do(lambda: clockwork.rounds.listen_anew(api.clock.now))
    api.parts.writer.do(lambda: clockwork.rounds.tick(api.clock.now))


def reports_by_its_own_clock(api: Api, node: ReportingNode) -> None:
    [body] = node.unsent(seconds=10)
    api.ask("POST", "/v1/snapshots", body, {"Gpudiag-Sent-At": str(node.now)})


@pytest.mark.parametrize("ahead", [6 * 86_400.0, 365 * 86_400.0, 12 * 365 * 86_400.0])
def test_a_clock_that_jumps_ahead_loses_nothing_and_calls_nobody_silent(
    api: Api, node: ReportingNode, ahead: float
) -> None:
    node.passes(minutes=5)
    before = api.parts.store.snapshots.count()
    jumps(api, node, ahead)
    at_once = api.client.diagnosis("node-3")["verdict"]["severity"]
    reports_by_its_own_clock(api, node)
    api.clock.now += 300

    assert api.parts.clockwork.keep_now() == 0
    assert api.parts.store.snapshots.count() == before + 1
    assert at_once == "unknown"
    assert {"agent-stale", "server-ingest-gap"}.isdisjoint(
        item["finding"]["rule"] for item in api.client.findings()["items"]
    )


@pytest.mark.parametrize(
    ("wall", "steady", "said"),
    [
        (1.0, 1.0, None),
        (9.0, 9.0, None),  # a slow disk
        (-3_600.0, 1.0, None),  # back: the windows themselves see it
        (3_600.0, 1.0, "jumped ahead by 1 h"),
        (120.0, 120.0, "did nothing for 2 min"),
        (3_600.0, 3_600.0, "did nothing for 1 h"),
    ],
)
def test_time_that_is_missing_between_two_looks_is_told(wall: float, steady: float, said: str | None) -> None:
    clocks = {"wall": 1e9, "steady": 50.0}
    watch = Watch(lambda: clocks["wall"], lambda: clocks["steady"])
    clocks["wall"] += wall
    clocks["steady"] += steady
    told = watch.missed()

    assert watch.missed() is None
    assert (said is None) is (told is None)
    assert told is None or (said or "") in told.said("en")


@pytest.mark.parametrize("moved", [True, False])
def test_what_is_said_of_a_store_that_is_set_aside_names_a_file_that_is_there(
    api: Api, node: ReportingNode, tmp_path: Path, caplog: pytest.LogCaptureFixture, moved: bool
) -> None:
    node.passes(minutes=1)
    store = tmp_path / "store.sqlite3"
    store.rename(tmp_path / "elsewhere.sqlite3")
    if not moved:
        store.write_bytes(b"another file")
    api.parts.clockwork.look_now()
    node.passes(seconds=20)

    assert api.parts.store.snapshots.count() == 2
    [said] = [record.message for record in caplog.records if "empty store goes on" in record.message]
    assert moved is ("set aside as" not in said)
    with sqlite3.connect(tmp_path / "elsewhere.sqlite3") as kept:
        assert kept.execute("SELECT count(*) FROM snapshots").fetchone() == (6,)
    kept.close()
