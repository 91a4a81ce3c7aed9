"""When a node is judged, and what several nodes show together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.words import Worded
from gpudiag.client import Refused
from gpudiag.examine import Ruleset, all_rules
from gpudiag.model import GpuReading, NvmlReading
from gpudiag.rules.situations import Situation
from gpudiag.window import Window
from gpudiag.words import LANGUAGES, Language
from tests.api.conftest import Api, ReportingNode
from tests.store.conftest import postgresql, postgresql_server
from tests.waiting import until

__all__ = ["postgresql", "postgresql_server"]


def opened(api: Api, rule: str) -> list[str]:
    items = api.client.findings(limit=1_000)["items"]
    return [item["node"] for item in items if item["finding"]["rule"] == rule and item["what"] == "opened"]


def test_a_fault_is_told_with_the_report_that_shows_it(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    node.gpu(0).shows(error="gpu_is_lost", utilization_percent=None, memory_used_bytes=None)
    node.reports()

    assert opened(api, "gpu-lost-bus") == ["node-3"]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "cannot tell yet: its first report is on its way in"),
        ("ko", "아직 판단할 수 없습니다: 첫 보고를 받아들이는 중입니다"),
    ],
)
def test_a_node_whose_first_report_was_not_judged_is_not_listed_without_a_word(
    api: Api, language: Language, said: str
) -> None:
    api.parts.answers.judge.add_node(9, "node-9")
    listed = api.ask("GET", f"/v1/nodes?lang={language}")["items"]

    assert [(item["node"], item["verdict"]["headline"]) for item in listed] == [("node-9", said)]


def test_a_new_ecc_error_does_not_wait(api: Api, node: ReportingNode) -> None:
    node.passes(seconds=70)
    node.gpu(0).shows(ecc_uncorrected_volatile=1, ecc_uncorrected_aggregate=1)
    node.reports()

    assert opened(api, "ecc-uncorrectable-new") == ["node-3"]


def test_a_question_judges_what_still_waits(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm()
    for _ in range(36):
        node.reports()
        said = api.client.diagnosis("node-3")

        assert api.parts.judge.nodes["node-3"].waits is False
    assert said["verdict"]["rule"] == "kv-pool-reserved-idle"


def test_the_clock_judges_what_waits_when_no_report_comes(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    state = api.parts.judge.nodes["node-3"]
    while not state.waits:
        node.reports()

    api.time_passes(16)

    assert state.waits is False


def test_calm_reports_are_judged_every_third_time(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    state = api.parts.judge.nodes["node-3"]
    judged = set()
    for _ in range(9):
        node.reports()
        judged.add(state.judged_time)

    assert 3 <= len(judged) <= 4


def judge_together(api: Api) -> None:
    api.parts.writer.do(lambda: api.parts.clockwork.rounds.judge_together(api.clock.now))


def report_side_by_side(api: Api, *nodes: ReportingNode, seconds: float) -> None:
    """Every ten seconds a report of each; the server's clock goes on, and works as it does by itself."""
    for _ in range(round(seconds / 10)):
        moment = api.clock.now
        for node in nodes:
            node.now = moment
            node.reports()
        works_by_the_clock(api)


def works_by_the_clock(api: Api, seconds: float = 0.0) -> None:
    """What the server does by itself every second, and every half a minute; nobody reports meanwhile."""
    for _ in range(round(seconds) or 1):
        api.time_passes(1.0 if seconds else 0.0)
        if api.clock.now - api.parts.judge.together.judged_at >= 30.0:
            judge_together(api)


def silences(api: Api) -> list[tuple[str, str, str | None]]:
    """(node, what, quiet) of what the feed says of silence."""
    items = api.client.findings(limit=1_000)["items"]
    told = ("agent-stale", "server-ingest-gap")
    return [(item["node"], item["what"], item["quiet"]) for item in items if item["finding"]["rule"] in told]


def loud(api: Api) -> list[tuple[str, str]]:
    """Those of which people are told."""
    return [(node, what) for node, what, quiet in silences(api) if quiet is None]


@pytest.fixture
def four(api: Api) -> list[ReportingNode]:
    nodes = [ReportingNode(f"node-{i}", api) for i in range(4)]
    report_side_by_side(api, *nodes, seconds=120)
    return nodes


def test_nodes_that_fall_silent_together_are_one_alarm(api: Api, four: list[ReportingNode]) -> None:
    works_by_the_clock(api, seconds=120)

    assert [f["rule"] for f in api.client.nodes()["findings"]] == ["server-ingest-gap"]
    assert loud(api) == [("fleet", "opened")]
    assert {node for node, _, quiet in silences(api) if quiet == "together"} == {n.name for n in four}
    assert "agent-stale" in api.open_findings("node-0")
    api.restart()
    assert [f["rule"] for f in api.client.nodes()["findings"]] == ["server-ingest-gap"]


def test_after_an_outage_of_the_server_nobody_is_called_silent(api: Api, four: list[ReportingNode]) -> None:
    first_kept = [node.unsent(minutes=30)[0] for node in four]
    api.stop()
    api.clock.now += 30 * 60.0
    api.start()
    until(lambda: api.parts.clockwork.all_loaded)
    works_by_the_clock(api, seconds=8)  # the agents wait before they try again
    for snapshot in first_kept:
        api.send(snapshot)
    works_by_the_clock(api, seconds=8)
    judge_together(api)

    assert silences(api) == []


@pytest.mark.parametrize("restarted", [False, True])
def test_what_was_well_before_an_outage_is_not_told_as_of_now(api: Api, restarted: bool) -> None:
    node = ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=10)
    kept = node.unsent(minutes=30)
    api.clock.now = node.now

    api.send(*kept[:100])
    if restarted:
        api.clock.now += 1.0
        api.restart()
    said = api.client.diagnosis("node-3")
    assert said["verdict"]["severity"] == said["gpus"][0]["verdict"]["severity"] == "unknown"
    why = (
        "no report from node-3 since this server began to listen"
        if restarted
        else "still sending old reports"
    )
    assert why in said["verdict"]["headline"]
    assert said["gpus"][0]["findings"] == []
    assert api.client.nodes()["items"][0]["verdict"]["severity"] == "unknown"

    api.send(*kept[100:])
    verdict = api.client.diagnosis("node-3")["verdict"]
    assert (verdict["rule"], verdict["severity"]) == ("kv-pool-reserved-idle", "ok")


def test_a_fault_from_before_an_outage_is_told_as_old(api: Api) -> None:
    node = ReportingNode("node-3", api).passes(minutes=5)
    kept = node.loses_its_gpu().unsent(minutes=30)
    api.clock.now = node.now
    api.send(*kept[:100])

    said = api.client.diagnosis("node-3")
    assert said["verdict"]["rule"] == "gpu-lost-bus"
    assert any("still sending what it kept" in note for note in said["notes"])

    api.send(*kept[100:])
    assert not any("still sending" in note for note in api.client.diagnosis("node-3")["notes"])


def test_after_an_outage_of_the_server_one_that_stays_away_is_told(
    api: Api, four: list[ReportingNode]
) -> None:
    api.stop()
    api.clock.now += 30 * 60.0
    api.start()
    until(lambda: api.parts.clockwork.all_loaded)
    report_side_by_side(api, *four[1:], seconds=120)

    assert loud(api) == [("node-0", "opened")]


def test_a_silence_from_before_the_server_stopped_stays_told(api: Api, four: list[ReportingNode]) -> None:
    report_side_by_side(api, *four[1:], seconds=120)
    api.restart()
    until(lambda: api.parts.clockwork.all_loaded)
    report_side_by_side(api, *four[1:], seconds=120)

    assert loud(api) == [("node-0", "opened")]
    assert "agent-stale" in api.open_findings("node-0")


def test_one_that_falls_silent_alone_is_told_after_the_clock_was_set_forward_and_back(
    api: Api, four: list[ReportingNode]
) -> None:
    api.clock.now += 86_400.0
    works_by_the_clock(api)
    report_side_by_side(api, *four, seconds=60)
    api.clock.now -= 86_400.0
    report_side_by_side(api, *four, seconds=120)
    before = len(loud(api))
    report_side_by_side(api, *four[1:], seconds=60)

    assert loud(api)[before:] == [("node-0", "opened")]


def test_one_that_falls_silent_alone_is_told_at_once(api: Api, four: list[ReportingNode]) -> None:
    report_side_by_side(api, *four[1:], seconds=60)

    assert loud(api) == [("node-0", "opened")]


def test_one_that_stays_silent_when_the_others_are_back_is_told(api: Api, four: list[ReportingNode]) -> None:
    works_by_the_clock(api, seconds=120)
    report_side_by_side(api, *four[1:], seconds=180)

    assert loud(api) == [("fleet", "opened"), ("fleet", "resolved"), ("node-0", "changed")]


def test_a_server_started_again_still_knows_whose_silence_it_kept_to_itself(
    api: Api, four: list[ReportingNode]
) -> None:
    works_by_the_clock(api, seconds=120)
    api.restart()
    for node in four:
        api.client.diagnosis(node.name)
    report_side_by_side(api, *four[1:], seconds=180)

    assert loud(api) == [("fleet", "opened"), ("fleet", "resolved"), ("node-0", "changed")]


def test_a_silence_that_is_over_is_not_told_after_a_restart(api: Api, four: list[ReportingNode]) -> None:
    works_by_the_clock(api, seconds=120)
    report_side_by_side(api, *four, seconds=180)
    report_side_by_side(api, *four[1:], seconds=60)
    before = loud(api)
    api.restart()
    for node in four:
        api.client.diagnosis(node.name)
    report_side_by_side(api, *four[1:], seconds=120)

    assert before == [("fleet", "opened"), ("fleet", "resolved"), ("node-0", "opened")] == loud(api)


def test_agents_that_come_back_to_a_server_started_again_are_no_alarm(
    api: Api, four: list[ReportingNode]
) -> None:
    api.stop()
    api.clock.now += 600
    api.start()
    api.client.nodes()
    for node in four:
        api.client.diagnosis(node.name)
    works_by_the_clock(api, seconds=5)
    report_side_by_side(api, *four, seconds=120)

    assert [entry for entry in loud(api) if entry[0] != "fleet"] == []


def test_what_is_about_many_nodes_is_acknowledged_as_well(api: Api, four: list[ReportingNode]) -> None:
    works_by_the_clock(api, seconds=120)
    [gap] = api.client.nodes()["findings"]

    said = api.client.ack(gap["id"], by="kim", why="the switch is being replaced")

    assert said["state"] == "acknowledged"
    assert [(d["who"], d["what"]) for d in said["decisions"]] == [("kim", "ack")]
    works_by_the_clock(api, seconds=60)
    assert [f["state"] for f in api.client.nodes()["findings"]] == ["acknowledged"]
    api.restart()
    assert [f["state"] for f in api.client.nodes()["findings"]] == ["acknowledged"]
    assert ("fleet", "acknowledged") in loud(api)


def test_another_process_acknowledges_what_the_first_one_found(
    make_api: Callable[..., Api], postgresql: str
) -> None:
    first, second = make_api(postgresql), make_api(postgresql)
    nodes = [ReportingNode(f"node-{i}", first) for i in range(4)]
    report_side_by_side(first, *nodes, seconds=60)
    works_by_the_clock(first, seconds=90)
    second.clock.now = first.clock.now
    [gap] = first.client.nodes()["findings"]

    assert second.client.ack(gap["id"], by="kim")["state"] == "acknowledged"
    judge_together(first)

    assert [f["state"] for f in first.client.nodes()["findings"]] == ["acknowledged"]


def test_what_is_about_many_nodes_and_over_is_not_acknowledged(api: Api, four: list[ReportingNode]) -> None:
    works_by_the_clock(api, seconds=120)
    [gap] = api.client.nodes()["findings"]
    report_side_by_side(api, *four, seconds=60)

    with pytest.raises(Refused, match="has ended at"):
        api.client.ack(gap["id"], by="kim")


def fails_again_and_again(node: ReportingNode) -> None:
    node.passes(minutes=1)
    for _ in range(4):
        node.gpu(0).shows(error="gpu_is_lost")
        node.reports()
        node.gpu(0).shows(error=None)
        node.machine(boot_id=f"boot-{node.now}")
        node.passes(minutes=70)


def offends_again_and_again(api: Api, node: ReportingNode) -> dict[str, Any]:
    fails_again_and_again(node)
    judge_together(api)
    [found] = [f for f in api.client.diagnosis(node.name)["findings"] if f["rule"] == "repeat-offender-host"]
    return found


def test_a_finding_of_the_fleet_about_one_node_stands_with_it(api: Api, node: ReportingNode) -> None:
    offends_again_and_again(api, node)

    assert "repeat-offender-host" in api.open_findings("node-3")


def test_reports_have_their_turn_between_the_rules_about_many_nodes(api: Api, node: ReportingNode) -> None:
    fails_again_and_again(node)
    steps, turns = api.parts.clockwork.rounds.judging_together(api.clock.now), 0
    while api.parts.writer.do(lambda: next(steps, True)) is None:
        node.reports()
        turns += 1

    assert turns > 5
    assert "repeat-offender-host" in api.open_findings("node-3")


def test_what_several_nodes_show_of_one_is_acknowledged_with_it(api: Api, node: ReportingNode) -> None:
    found = offends_again_and_again(api, node)

    api.client.ack(found["id"], by="kim")

    states = {f["rule"]: f["state"] for f in api.client.diagnosis("node-3")["findings"]}
    assert states["repeat-offender-host"] == "acknowledged"


def hangs(node: Situation) -> None:
    """The firmware of GPU 0 does not answer."""
    node.logs("xid", "NVRM: Xid (PCI:0000:19:00): 119, Timeout waiting for RPC from GSP!", number=119,
              bus_id="0000:19:00.0")  # fmt: skip


def test_a_fault_that_came_back_is_known_by_a_server_started_again(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    hangs(node)
    node.passes(minutes=1).is_silent(8 * 3600)
    node.machine(boot_id="boot-2", booted_at=node.now - 60)
    node.passes(minutes=90)
    api.restart()
    hangs(node)
    node.passes(minutes=1)

    assert "xid-repeat" in api.open_findings("node-3")


def test_a_fault_of_this_boot_is_no_repetition_after_a_restart(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    hangs(node)
    node.passes(minutes=90)
    api.restart()
    hangs(node)
    node.passes(minutes=1)

    assert {"gsp-timeout"} == {"gsp-timeout", "xid-repeat"} & set(api.open_findings("node-3"))


def test_a_fault_that_a_reset_ended_does_not_come_back_with_a_restart(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    hangs(node)
    node.gpu(0).shows(recovery_action=1)
    node.passes(minutes=1)
    assert "gsp-timeout" in api.open_findings("node-3")
    node.gpu(0).shows(recovery_action=0)
    node.passes(minutes=90)
    assert "gsp-timeout" not in api.open_findings("node-3")

    api.restart()

    assert "gsp-timeout" not in api.open_findings("node-3")


def test_what_came_late_is_told_on_a_store_of_several_processes(
    make_api: Callable[..., Api], postgresql: str
) -> None:
    api = make_api(postgresql)
    node = ReportingNode("node-3", api).passes(minutes=10)
    late = node.loses_its_gpu().unsent(minutes=1)
    node.gpu(0).shows(error=None, utilization_percent=0.0)
    node.passes(minutes=1)
    api.send(*late)
    api.time_passes(20)
    api.client.diagnosis("node-3")  # who only looks keeps nothing
    node.passes(minutes=1)

    assert opened(api, "gpu-lost-bus") == ["node-3"]


def test_silence_goes_on_though_the_server_s_clock_steps_back(api: Api) -> None:
    ReportingNode("node-3", api).passes(minutes=5)
    works_by_the_clock(api, seconds=300)
    assert silences(api) == [("node-3", "opened", None)]
    api.clock.now -= 7_200

    works_by_the_clock(api, seconds=300)
    api.restart()
    works_by_the_clock(api, seconds=300)

    assert silences(api) == [("node-3", "opened", None)]
    assert "agent-stale" in api.open_findings("node-3")


def test_a_node_that_falls_silent_as_the_server_s_clock_steps_back_is_missed(api: Api) -> None:
    ReportingNode("node-3", api).passes(minutes=5)
    works_by_the_clock(api, seconds=10)
    api.clock.now -= 7_200

    works_by_the_clock(api, seconds=120)

    assert [("node-3", "opened")] == [(node, what) for node, what, _ in silences(api)]


def test_what_is_over_ends_though_two_processes_get_the_reports_by_turns(
    make_api: Callable[..., Api], postgresql: str
) -> None:
    api, other = make_api(postgresql), make_api(postgresql)
    other.clock = api.clock
    other.restart()
    node = ReportingNode("node-3", api)
    node.gpu(0).shows(temperature_celsius=91.0, clocks_event_reasons=0x40, utilization_percent=100.0,
                      sm_clock_megahertz=600.0, power_watts=400.0)  # fmt: skip
    node.passes(minutes=8)
    assert "thermal-hw-slowdown" in api.open_findings("node-3")

    node.gpu(0).shows(temperature_celsius=50.0, clocks_event_reasons=0, sm_clock_megahertz=1_980.0)
    for _ in range(6 * 12):
        node.reports()
        node.api = other if node.api is api else api

    assert "thermal-hw-slowdown" not in api.open_findings("node-3")
    told = [item["what"] for item in api.client.findings(limit=1_000)["items"]
            if item["finding"]["rule"] == "thermal-hw-slowdown"]  # fmt: skip
    assert told == ["opened", "resolved"]


@pytest.mark.parametrize("error", [None, "driver_not_loaded"])
@pytest.mark.parametrize("lost", [[0, 1, 2, 3], [2]])
def test_cards_that_are_lost_stay_lost_when_the_server_restarts(
    api: Api, lost: list[int], error: str | None
) -> None:
    node = ReportingNode("node-4", api, gpus=4)
    node.passes(minutes=6)
    for index in lost if error is None else list(node.gpus):
        del node.gpus[index]
    node.machine(pci_gpu_count=4 - len(lost)).nvml = NvmlReading(error=error)
    node.passes(minutes=20)
    before = api.client.diagnosis("node-4")["verdict"]
    api.restart()
    node.passes(minutes=16)

    assert api.client.diagnosis("node-4")["verdict"] == before
    assert before["severity"] == "critical"
    assert before["rule"] == ("gpu-count-changed" if error is None else "nvml-unavailable")


def test_a_gpu_that_gives_no_answer_is_not_called_well(api: Api) -> None:
    node = ReportingNode("node-3", api).serves_idle_vllm()
    node.passes(minutes=6)
    reading = node.gpu(0).reading
    node.gpu(0).reading = GpuReading(
        index=0, uuid=reading.uuid, name=reading.name, bus_id=reading.bus_id, error="timeout"
    )
    node.misses("gpu:0", "*", "timeout").reports()
    [gpu] = api.client.diagnosis("node-3")["gpus"]

    assert ("unknown", []) == (gpu["verdict"]["severity"], gpu["findings"])


def test_a_gpu_that_the_driver_does_not_show_is_not_called_free(api: Api) -> None:
    node = ReportingNode("node-4", api, gpus=2)
    assert node.passes(minutes=6) and api.client.diagnosis("node-4", gpu=1)["verdict"]["rule"] == "gpu-free"
    node.gpus.clear()
    node.nvml = NvmlReading(error="driver_not_loaded")

    node.passes(seconds=10)  # the driver is loaded anew, perhaps
    assert api.client.diagnosis("node-4")["verdict"]["severity"] == "unknown"
    node.passes(minutes=1)
    assert api.client.diagnosis("node-4")["verdict"]["rule"] == "nvml-unavailable"
    assert api.client.diagnosis("node-4", gpu=1)["verdict"]["rule"] == "nvml-unavailable"


def test_a_node_whose_cards_were_taken_says_so_until_none_are_declared(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    (tmp_path / "gpudiag.toml").write_text('[nodes."vm-*"]\nexpected_gpus = 0\n')
    api = make_api(config=str(tmp_path / "gpudiag.toml"))
    verdicts = {}
    for name in ("node-4", "vm-4"):
        node = ReportingNode(name, api)
        node.passes(minutes=6)
        node.gpus.clear()
        node.machine(pci_gpu_count=0).passes(minutes=5)
        verdicts[name] = api.client.diagnosis(name)["verdict"]

    assert verdicts["node-4"]["rule"] == "gpu-count-changed"
    assert verdicts["vm-4"]["rule"] == "no-gpu-host"


def breaks_over(name: str, api: Api) -> None:
    """From now on a rule has a bug, which shows with this one node."""

    def judge(node: Window) -> None:
        if node.node == name:
            raise KeyError("a bug")

    api.parts.judge.rules = Ruleset(
        [replace(all_rules()[0], judge=judge, subject="node", given=(), thresholds={})]
    )


def fails_over_an_xid(number: int, api: Api) -> None:
    """From now on a rule has a bug, which shows where this Xid was pasted."""

    def judge(node: Window) -> None:
        if any(event.number == number for event in node.events):
            raise KeyError("a bug")

    broken = replace(all_rules()[0], id="broken", judge=judge, subject="node", given=(), thresholds={})
    api.parts.answers.rules = Ruleset([*all_rules(), broken])


XID = "Nov 30 12:00:00 {host} kernel: NVRM: Xid (PCI:0000:19:00): {number}, pid=4100, name=python3"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_of_a_paste_that_cannot_be_judged_the_facts_are_told(api: Api, lang: str) -> None:
    fails_over_an_xid(31, api)
    text = XID.format(host="node-1", number=31).encode()
    said = api.ask("POST", f"/diagnose?format=json&lang={lang}", text)

    assert (said["verdict"]["severity"], said["verdict"]["rule"]) == ("unknown", "not-enough-evidence")
    assert "gpudiag" in said["verdict"]["headline"]
    assert "KeyError" in said["notes"][0]
    assert "KeyError" in api.ask("POST", f"/diagnose?lang={lang}", text, {"Accept": "text/plain"})


def test_a_text_over_which_a_reader_fails_is_refused_with_a_word(api: Api) -> None:
    class Odd(bytes):
        def decode(self, *args: Any) -> str:
            raise KeyError("a bug")

    with pytest.raises(Worded, match=r"failed over this text \(KeyError\)") as caught:
        api.parts.answers.pasted(Odd(b"+-----+"), "en")
    assert getattr(caught.value, "status", None) == 422


def test_of_a_snapshot_that_cannot_be_judged_the_facts_are_told(api: Api, node: ReportingNode) -> None:
    fails_over_an_xid(79, api)
    node.loses_its_gpu().gpu(0).shows(temperature_celsius=44.0)
    [snapshot] = node.unsent(seconds=10)
    said = api.ask("POST", "/diagnose?format=json", snapshot)

    assert said["verdict"]["severity"] == "unknown"
    assert "KeyError" in said["notes"][0]
    assert said["gpus"][0]["readings"]["temperature_celsius"] == 44.0


def test_a_machine_that_cannot_be_judged_hides_no_fault_of_another(api: Api) -> None:
    fails_over_an_xid(31, api)
    lines = [XID.format(host=host, number=number) for host, number in (("node-1", 79), ("node-2", 31))]
    said = api.ask("POST", "/diagnose?format=json", "\n".join(lines).encode())

    assert (said["verdict"]["severity"], said["verdict"]["rule"]) == ("critical", "gpu-lost-bus")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_node_that_cannot_be_judged_keeps_no_other_from_reporting(
    make_api: Callable[..., Api], request: pytest.FixtureRequest, kind: str
) -> None:
    api = make_api(request.getfixturevalue("postgresql") if kind == "postgresql" else None)
    nodes = [ReportingNode(name, api) for name in ("broken", "sound")]
    for node in nodes:
        node.passes(seconds=20)
    breaks_over("broken", api)
    api.parts.judge.unload(list(api.parts.judge.nodes.values()))  # as after a start

    assert api.send(*[node.unsent(seconds=10)[0] for node in nodes])["stored"] == 2
    assert api.client.diagnosis("sound")["verdict"]["rule"] == "not-enough-evidence"


def test_a_node_of_which_too_little_is_visible_is_not_said_to_meet_a_bug(
    make_api: Callable[..., Api], postgresql: str
) -> None:
    api = make_api(postgresql)
    node = ReportingNode("node-3", api)
    node.all_gpus(memory_used_bytes=None, utilization_percent=None).passes(seconds=60)
    api.parts.judge.unload([api.parts.judge.nodes["node-3"]])  # as after a report that was not stored
    [item] = api.client.nodes()["items"]

    assert (item["verdict"]["severity"], item["verdict"]["rule"]) == ("unknown", "not-enough-evidence")
    assert "not visible" in item["verdict"]["headline"]


def test_a_node_that_can_be_judged_no_more_is_unknown(api: Api, node: ReportingNode) -> None:
    node.loses_its_gpu().passes(seconds=20)
    assert verdict_in_the_list(api) == "critical"
    breaks_over("node-3", api)
    node.passes(seconds=60)

    assert verdict_in_the_list(api) == "unknown"
    assert 'gpudiag_nodes{severity="unknown"} 1' in api.ask("GET", "/metrics")


@pytest.mark.parametrize("asked", ["", "?window=1m", "?at=1s", "?lang=ko"])
def test_of_a_node_that_cannot_be_judged_the_facts_are_told(
    api: Api, node: ReportingNode, asked: str
) -> None:
    node.loses_its_gpu().passes(seconds=20)
    breaks_over("node-3", api)
    node.gpu(0).shows(temperature_celsius=44.0)
    node.passes(seconds=60)
    said = api.ask("GET", f"/v1/nodes/node-3{asked}")

    assert (said["verdict"]["severity"], said["verdict"]["rule"]) == ("unknown", "not-enough-evidence")
    assert "gpudiag" in said["verdict"]["headline"]
    assert "KeyError" in said["notes"][0]
    assert said["gpus"][0]["readings"]["temperature_celsius"] == 44.0
    assert [finding["rule"] for finding in said["gpus"][0]["findings"]] == ["gpu-lost-bus"]
    assert api.ask("GET", f"/v1/nodes/node-3{asked}")["verdict"] == said["verdict"]
    if asked == "":
        assert "KeyError" in api.ask("GET", "/diagnose/node-3", headers={"Accept": "text/plain"})
        assert "KeyError" in api.ask("GET", "/nodes/node-3", headers={"Accept": "text/html"})
        assert api.ask("GET", "/v1/nodes/node-3/history?at=1s")["gpus"][0]["series"]


def test_other_servers_are_told_which_node_cannot_be_judged_once(
    make_api: Callable[..., Api], postgresql: str
) -> None:
    first, second = make_api(postgresql), make_api(postgresql)
    node = ReportingNode("node-3", first)
    node.passes(seconds=20)
    assert verdict_in_the_list(second) != "unknown"
    for api in (first, second):
        breaks_over("node-3", api)
        second.clock.now = first.clock.now
    node.passes(seconds=20)
    versions = {version_of(first)}
    for api in (second, first, second):
        node.api = api
        node.reports()
        versions.add(version_of(first))

    assert verdict_in_the_list(second) == "unknown"
    assert len(versions) == 1
    second.restart()
    [item] = second.client.nodes()["items"]
    assert "server's log" in item["verdict"]["headline"]


def version_of(api: Api) -> int:
    version: int = api.parts.store.snapshots.node("node-3").version
    return version


def test_silence_is_told_of_a_node_that_only_the_clock_can_not_judge(api: Api, node: ReportingNode) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    assert verdict_in_the_list(api) == "ok"
    breaks_over("node-3", api)
    api.time_passes(120)

    assert verdict_in_the_list(api) == "unknown"


def verdict_in_the_list(api: Api) -> str:
    [item] = api.client.nodes()["items"]
    severity: str = item["verdict"]["severity"]
    return severity
