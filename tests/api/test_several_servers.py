"""Several servers on one PostgreSQL store answer as one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from api.store import Store
from tests.api.conftest import Api, ReportingNode
from tests.api.test_judging import report_side_by_side, works_by_the_clock
from tests.store.conftest import postgresql, postgresql_server
from tests.waiting import PATIENCE_SECONDS, until

__all__ = ["postgresql", "postgresql_server"]


@pytest.fixture
def two(postgresql: str, make_api: Callable[..., Api]) -> tuple[Api, Api]:
    """The first one leads: it judges by the clock."""
    first = make_api(postgresql)
    until(first.parts.store.try_to_lead)
    return first, make_api(postgresql)


def fleet_findings(api: Api) -> list[tuple[str, str]]:
    return [(finding["rule"], finding["id"]) for finding in api.client.nodes().get("findings", [])]


def four_fall_silent(first: Api, second: Api) -> None:
    nodes = [ReportingNode(f"node-{i}", first) for i in range(4)]
    report_side_by_side(first, *nodes, seconds=60)
    works_by_the_clock(first, seconds=90)
    second.clock.now = first.clock.now


def test_what_one_finds_of_several_nodes_the_other_shows(two: tuple[Api, Api]) -> None:
    first, second = two
    four_fall_silent(first, second)

    until(lambda: fleet_findings(second) != [])
    assert fleet_findings(second) == fleet_findings(first)


def test_who_leads_next_goes_on_with_what_is_open_of_several_nodes(two: tuple[Api, Api]) -> None:
    first, second = two
    four_fall_silent(first, second)
    found = fleet_findings(first)
    first.stop()
    until(second.parts.store.try_to_lead)
    works_by_the_clock(second, seconds=60)

    assert [rule for rule, _ in found] == ["server-ingest-gap"]
    assert fleet_findings(second) == found


def test_a_mute_holds_at_every_server(two: tuple[Api, Api]) -> None:
    first, second = two
    node = ReportingNode("node-3", first)
    node.passes(minutes=1)
    first.ask("POST", "/v1/mutes", b'{"node":"node-3","seconds":"1d"}', {"Content-Type": "application/json"})
    until(lambda: second.parts.judge.feed.mutes != [])
    second.clock.now = first.clock.now
    node.api = second
    node.loses_its_gpu().passes(seconds=10)

    [told] = [i for i in second.client.findings()["items"] if i["finding"]["rule"] == "gpu-lost-bus"]
    assert told["quiet"] == "muted"


def test_a_list_has_the_load_of_nodes_that_report_to_another_server(two: tuple[Api, Api]) -> None:
    first, second = two
    nodes = [ReportingNode(name, second, gpus=2) for name in ("node-3", "node-4")]
    nodes[0].passes(minutes=1)  # later to the other server, node-4 never here
    first.clock.now = second.clock.now
    for node in nodes:
        node.api = first
        node.all_gpus(utilization_percent=40.0, memory_used_bytes=20 << 30)
    report_side_by_side(first, *nodes, seconds=120)
    second.clock.now = first.clock.now
    told = {item["node"]: item for item in second.client.nodes()["items"]}

    assert [(40.0, 40 << 30, 2)] * 2 == [
        (told[name]["utilization_percent"], told[name]["memory_used_bytes"], told[name]["gpus"])
        for name in ("node-3", "node-4")
    ]
    second.clock.now += 60
    assert {None} == {item["utilization_percent"] for item in second.client.nodes()["items"]}


def test_a_load_that_is_older_than_the_newest_report_is_not_listed(two: tuple[Api, Api]) -> None:
    first, second = two
    node = ReportingNode("node-3", first)
    node.passes(minutes=1)
    second.clock.now = first.clock.now = first.clock.now + 60
    row = first.parts.store.snapshots.node("node-3")
    with first.parts.store.writing() as connection:  # as a server of an older version does
        first.parts.store.snapshots.save_seen(connection, [(row.id, first.clock.now)])
    [item] = second.client.nodes()["items"]

    assert (item["age_seconds"], item["utilization_percent"]) == (0.0, None)


def test_metrics_have_what_was_reported_to_another_server(two: tuple[Api, Api]) -> None:
    first, second = two
    node = ReportingNode("node-3", first)
    node.passes(minutes=1).loses_its_gpu().passes(seconds=10)
    second.clock.now = first.clock.now
    metrics = second.ask("GET", "/metrics")

    assert 'rule="gpu-lost-bus"' in metrics
    assert 'gpudiag_nodes{severity="critical"} 1' in metrics


def test_metrics_have_no_reading_of_before_a_node_reported_to_another_server(two: tuple[Api, Api]) -> None:
    first, second = two
    node = ReportingNode("node-3", second)
    first.clock.now = second.clock.now
    node.passes(minutes=1)
    assert 'gpudiag_gpu_power_watts{node="node-3",gpu="0"}' in second.ask("GET", "/metrics")
    node.api = first
    node.passes(minutes=5)
    second.clock.now = first.clock.now
    second.client.nodes()
    metrics = second.ask("GET", "/metrics")

    assert "gpudiag_gpu_power_watts{" not in metrics
    assert 'gpudiag_snapshot_age_seconds{node="node-3"} 0' in metrics


def keeps_a_window(store: Store, node: int) -> None:
    with store.writing() as connection:
        store.snapshots.save_packed(connection, node, 2.0, b"b")


def locks_waited_for(store: Store) -> int:
    with store.reading() as connection:
        count: int = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_locks WHERE NOT granted"
        ).scalar_one()
    return count


def test_two_servers_that_keep_the_same_window_do_not_quarrel(postgresql: str) -> None:
    stores = Store(postgresql), Store(postgresql)
    try:
        with stores[0].writing() as connection:
            node = stores[0].snapshots.add_node(connection, "node-3", 1.0)
        with ThreadPoolExecutor(1) as pool:
            with stores[0].writing() as first:
                stores[0].snapshots.save_packed(first, node, 1.0, b"a")
                later = pool.submit(keeps_a_window, stores[1], node)
                until(lambda: locks_waited_for(stores[0]) > 0)
            later.result(PATIENCE_SECONDS)
        assert stores[0].snapshots.packed(node) == (2.0, b"b")
    finally:
        for store in stores:
            store.close()


@pytest.mark.parametrize("act", ["ack", "forget"])
def test_who_changes_a_node_waits_for_the_server_that_stores_its_report(
    two: tuple[Api, Api], act: str
) -> None:
    """Else each would hold a row that the other one wants."""
    first, second = two
    node = ReportingNode("node-3", first)
    node.passes(seconds=20).loses_its_gpu().passes(seconds=10)
    [lost] = [i for i in second.client.findings()["items"] if i["finding"]["rule"] == "gpu-lost-bus"]
    acts = {
        "ack": partial(second.client.ack, lost["finding"]["id"], by="kim"),
        "forget": partial(second.ask, "DELETE", "/v1/nodes/node-3"),
    }
    store = first.parts.store
    with ThreadPoolExecutor(1) as pool:
        with store.writing() as connection:
            store.lock_nodes(connection, [store.snapshots.node("node-3").id])
            later = pool.submit(acts[act])
            until(lambda: locks_waited_for(store) > 0)
        later.result(PATIENCE_SECONDS)
