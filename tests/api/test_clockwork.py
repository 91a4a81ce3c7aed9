"""What the server does by its own clock goes on, whatever happens to the store or to the clock."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
import weakref
from pathlib import Path

from gpudiag.window import Window
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

    until(lambda: bool(api.parts.writer.all_loaded))


def test_keeping_the_windows_holds_up_nobody_who_has_a_node(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=2)
    state, store = api.parts.judge.nodes["node-3"], api.parts.store
    written = threading.Event()

    def write() -> None:
        with store.writing() as connection:
            store.snapshots.add_node(connection, "node-4", api.clock.now)
        written.set()

    stopping = threading.Thread(target=api.parts.writer.stop, daemon=True)
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


def test_the_list_shows_a_verdict_as_soon_as_it_changes(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=5)
    before = api.client.nodes()["items"][0]["verdict"]["severity"]
    node.loses_its_gpu().passes(seconds=10)

    assert before != "critical"
    assert "critical" == api.client.nodes()["items"][0]["verdict"]["severity"]
    assert ["node-3"] == [item["node"] for item in api.ask("GET", "/v1/nodes?severity=critical")["items"]]


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

        until(lambda: windows() == before, seconds=10.0)
    finally:
        gc.enable()
