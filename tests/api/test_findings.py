"""What opens, stays and ends, and what people decide about it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudiag.client import NotFound, Refused
from tests.api.conftest import Api, ReportingNode


def feed(api: Api, rule: str) -> list[str]:
    return [item["what"] for item in api.client.findings()["items"] if item["finding"]["rule"] == rule]


def test_the_feed_goes_on_where_it_was_left(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    first = api.client.findings()
    assert first["items"]

    nothing = api.client.findings(after=first["next"])
    node.loses_its_gpu().passes(seconds=20)
    later = api.client.findings(after=first["next"])

    assert (nothing["items"], nothing["next"]) == ([], None)
    assert "gpu-lost-bus" in [item["finding"]["rule"] for item in later["items"]]


def test_a_cursor_of_a_lost_store_leads_to_all_that_is_new(
    node: ReportingNode, api: Api, tmp_path: Path
) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    reached = api.client.findings()["items"][-1]["cursor"]
    api.stop()
    for file in tmp_path.glob("store.sqlite3*"):
        file.unlink()
    api.start()
    node.loses_its_gpu().passes(minutes=1)

    later = api.client.findings(after=reached)["items"]

    assert "gpu-lost-bus" in [item["finding"]["rule"] for item in later]


def test_one_episode_has_one_id(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=2)

    ids = {f["id"] for gpu in api.client.diagnosis("node-3")["gpus"] for f in gpu["findings"]
           if f["rule"] == "gpu-lost-bus"}  # fmt: skip

    assert len(ids) == 1
    assert feed(api, "gpu-lost-bus") == ["opened"]
    assert api.client.finding(ids.pop())["state"] == "open"


def test_a_silent_node_is_stale_and_heals_nothing(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=2)

    api.time_passes(900)

    assert "agent-stale" in api.open_findings("node-3")
    assert "gpu-lost-bus" in api.open_findings("node-3")
    assert feed(api, "gpu-lost-bus") == ["opened"]


def test_what_is_told_of_a_silence_is_as_old_as_the_answer(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=6)
    api.time_passes(500)
    api.clock.now += 55.0  # the next look by the clock is not due yet

    said = api.client.diagnosis("node-3")
    stale = next(f for f in said["findings"] if f["rule"] == "agent-stale")
    age = next(e["value"] for e in stale["evidence"] if e["name"] == "age_seconds")

    assert age == round(api.clock.now - api.parts.judge.nodes["node-3"].window.received_at)


def test_silence_resolves_no_state_either(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    api.time_passes(900)

    assert "kv-pool-reserved-idle" not in api.open_findings("node-3")
    assert "resolved" not in feed(api, "kv-pool-reserved-idle")


def test_a_node_that_reports_again_is_stale_no_more(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    api.time_passes(300)
    node.is_silent(300)

    node.passes(minutes=6)

    assert "agent-stale" not in api.open_findings("node-3")
    assert feed(api, "agent-stale") == ["opened", "resolved"]


def had_a_remap_pending(node: ReportingNode, clear_minutes: float) -> None:
    node.gpu(0).shows(row_remap_pending=True)
    node.passes(minutes=3)
    node.gpu(0).shows(row_remap_pending=False)
    node.passes(minutes=clear_minutes)


@pytest.mark.parametrize("crash", [False, True])
def test_since_when_a_finding_is_clear_outlives_a_restart(
    node: ReportingNode, api: Api, make_api: Callable[..., Api], tmp_path: Path, crash: bool
) -> None:
    had_a_remap_pending(node, clear_minutes=4)
    if crash:
        for file in tmp_path.glob("store.sqlite3*"):
            shutil.copy(file, tmp_path / file.name.replace("store", "after"))
        api.stop()
        api.store = f"sqlite:///{tmp_path}/after.sqlite3"
        api.start()
    else:
        api.restart()
    before = api.open_findings("node-3")
    node.passes(minutes=2)

    assert "row-remap-pending" in before
    assert feed(api, "row-remap-pending") == ["opened", "resolved"]


def test_a_time_in_which_no_server_looked_clears_nothing(node: ReportingNode, api: Api) -> None:
    had_a_remap_pending(node, clear_minutes=2)
    for _ in range(2):
        api.stop()
        api.clock.now += 3_600
        api.start()
        node.now = api.clock.now
        node.passes(minutes=1)
    assert feed(api, "row-remap-pending") == ["opened"]

    node.passes(minutes=2)
    assert feed(api, "row-remap-pending") == ["opened", "resolved"]


def test_what_was_seen_again_after_it_was_clear_is_not_clear_after_a_restart(
    node: ReportingNode, api: Api
) -> None:
    had_a_remap_pending(node, clear_minutes=4)
    node.gpu(0).shows(row_remap_pending=True)
    node.passes(minutes=2)
    node.gpu(0).shows(row_remap_pending=False)
    node.passes(seconds=60)
    api.restart()
    node.passes(minutes=2)

    assert feed(api, "row-remap-pending") == ["opened"]


def test_open_findings_outlive_a_restart(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=2)
    before = api.client.findings()["items"]

    api.restart()

    assert "gpu-lost-bus" in api.open_findings("node-3")
    node.passes(minutes=1)
    assert [i["cursor"] for i in before] == [i["cursor"] for i in api.client.findings()["items"]]


def test_the_window_is_built_again_after_a_restart(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=20)
    before = api.client.diagnosis("node-3")

    api.restart()
    after = api.client.diagnosis("node-3")

    assert before["verdict"] == after["verdict"]
    assert before["gpus"] == after["gpus"]


def test_an_acknowledged_finding_stays_open_with_who_and_why(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=1)
    [gpu] = api.client.diagnosis("node-3")["gpus"]
    [finding] = [f for f in gpu["findings"] if f["rule"] == "gpu-lost-bus"]

    api.client.ack(finding["id"], by="kim", why="replacing the riser")
    node.passes(minutes=1)

    told = api.client.finding(finding["id"])
    assert told["state"] == "acknowledged"
    assert [(d["who"], d["what"], d["why"]) for d in told["decisions"]] == [
        ("kim", "ack", "replacing the riser")
    ]
    assert feed(api, "gpu-lost-bus") == ["opened", "acknowledged"]
    api.restart()
    assert api.client.finding(finding["id"])["state"] == "acknowledged"


def test_a_mute_keeps_the_feed_quiet_until_it_expires(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1)
    muted = api.client.mute("node-3", seconds=7200, by="lee", why="moving racks")
    node.loses_its_gpu().passes(seconds=20)

    [entry] = [i for i in api.client.findings()["items"] if i["finding"]["rule"] == "gpu-lost-bus"]

    assert entry["quiet"] == "muted"
    assert api.client.diagnosis("node-3")["verdict"]["severity"] == "critical"
    assert [muted["id"]] == [m["id"] for m in api.client.mutes()["items"]]
    api.clock.now += 7201
    assert api.client.mutes()["items"] == []


def test_a_mute_ends_when_told(node: ReportingNode, api: Api) -> None:
    node.reports()
    muted = api.client.mute("node-*", "gpu-lost-bus", seconds=60, by="lee")

    api.client.unmute(muted["id"], by="lee")

    assert api.client.mutes()["items"] == []
    with pytest.raises(NotFound, match="no mute"):
        api.client.unmute(muted["id"])


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0}, {"seconds": "for ever"}, {"seconds": 1e9}, {}, {"seconds": True}]
)
def test_a_mute_always_expires(node: ReportingNode, api: Api, wrong: dict[str, object]) -> None:
    node.reports()

    with pytest.raises(Refused, match="seconds"):
        api.client._post("/v1/mutes", {"node": "node-3", "by": "lee", **wrong})


def test_a_mute_names_what_there_is(node: ReportingNode, api: Api) -> None:
    node.reports()

    with pytest.raises(NotFound, match="node-3"):
        api.client.mute("node-4", seconds=60, by="lee")
    with pytest.raises(Refused, match="no rule"):
        api.client.mute("node-3", "nonsense", seconds=60, by="lee")


@pytest.mark.parametrize("pattern", ["nod-*", "[", "node-[4-9]", "NODE-*"])
def test_a_pattern_that_fits_nobody_is_told(node: ReportingNode, api: Api, pattern: str) -> None:
    node.reports()

    with pytest.raises(NotFound, match="no node's name fits"):
        api.client.mute(pattern, seconds=60, by="lee")


def test_mutes_do_not_pile_up_without_end(node: ReportingNode, api: Api) -> None:
    node.reports()
    with api.parts.store.writing() as connection:
        for _ in range(1_000):
            api.parts.store.decisions.mute(
                connection, "node-3", None, api.clock.now, api.clock.now + 60, "a script", ""
            )

    with pytest.raises(Refused, match="1000 mutes hold already"):
        api.client.mute("node-3", seconds=60, by="lee")
    api.clock.now += 61
    assert api.client.mute("node-3", seconds=60, by="lee")["node"] == "node-3"


def test_whoever_decides_under_a_long_name_is_kept(node: ReportingNode, api: Api) -> None:
    node.reports()
    admin, _ = api.parts.store.tokens.create("admin", None, "n" * 400, api.clock.now)
    api.parts.gate._read_at = -1e9
    api.client.token = admin

    assert len(api.client.mute("node-3", seconds=60, by="k" * 200)["by"]) == 255


@pytest.mark.parametrize("nothing", [0, "0", "0s"])
def test_maintenance_of_no_time_ends_it(node: ReportingNode, api: Api, nothing: object) -> None:
    node.reports()
    api.client.maintenance("node-3", seconds=3600, by="park")

    api.client._post("/v1/nodes/node-3/maintenance", {"seconds": nothing, "by": "park"})

    assert not any("maintenance" in note for note in api.client.diagnosis("node-3")["notes"])


@pytest.mark.parametrize("wrong", [False, -1, "-1h", "0d", "1e400", "nan", 31 * 86_400, [], None])
def test_maintenance_wants_a_span_of_time(node: ReportingNode, api: Api, wrong: object) -> None:
    node.reports()

    with pytest.raises(Refused, match="seconds"):
        api.client._post("/v1/nodes/node-3/maintenance", {"seconds": wrong, "by": "park"})


def test_maintenance_is_said_and_ends(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1)

    api.client.maintenance("node-3", seconds=3600, by="park", why="firmware")
    assert any("maintenance" in note for note in api.client.diagnosis("node-3")["notes"])
    api.time_passes(600)
    assert api.client.diagnosis("node-3")["verdict"]["severity"] == "unknown"

    api.client.maintenance("node-3", seconds=0, by="park")
    assert not any("maintenance" in note for note in api.client.diagnosis("node-3")["notes"])


def test_a_node_that_stays_silent_after_its_maintenance_is_told_of(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1)
    api.client.maintenance("node-3", seconds=600, by="park", why="firmware")
    api.time_passes(300)
    assert [("opened", "unknown", "maintenance")] == stale_of(api)

    api.time_passes(400)

    assert ("changed", "warning", None) == stale_of(api)[-1]


def stale_of(api: Api) -> list[tuple[str, str, str | None]]:
    """What the feed told of the silence: what happened, how severe, who is not told."""
    told = [item for item in api.client.findings()["items"] if item["finding"]["rule"] == "agent-stale"]
    return [(item["what"], item["finding"]["severity"], item["quiet"]) for item in told]


def test_a_forgotten_node_leaves_nothing(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1).loses_its_gpu().passes(minutes=1)

    api.client.forget_node("node-3", by="park", why="sold")

    assert api.client.nodes()["items"] == []
    assert api.parts.store.snapshots.count() == 0
    with pytest.raises(NotFound):
        api.client.diagnosis("node-3")
    node.passes(seconds=10)  # and it may come back
    assert [item["node"] for item in api.client.nodes()["items"]] == ["node-3"]
