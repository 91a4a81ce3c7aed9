"""When a node is judged, and what several nodes show together."""

from __future__ import annotations

from tests.api.conftest import Api, ReportingNode


def opened(api: Api, rule: str) -> list[str]:
    items = api.client.findings(limit=1_000)["items"]
    return [item["node"] for item in items if item["finding"]["rule"] == rule and item["what"] == "opened"]


def test_a_fault_is_told_with_the_report_that_shows_it(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    node.gpu(0).shows(error="gpu_is_lost", utilization_percent=None, memory_used_bytes=None)
    node.reports()

    assert opened(api, "gpu-lost-bus") == ["node-3"]


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
    api.parts.writer.do(lambda: api.parts.judge.judge_together(api.clock.now))


def test_nodes_that_fall_silent_together_point_at_what_they_share(api: Api) -> None:
    nodes = [ReportingNode(f"node-{i}", api) for i in range(4)]
    for _ in range(6):
        for node in nodes:
            node.now = api.clock.now - 10
        moment = api.clock.now
        for node in nodes:
            node.now = moment
            node.reports()

    api.time_passes(120)
    judge_together(api)
    api.parts.writer.do(lambda: None)

    assert [f["rule"] for f in api.client.nodes()["findings"]] == ["server-ingest-gap"]
    assert opened(api, "server-ingest-gap") == ["fleet"]
    api.restart()
    assert [f["rule"] for f in api.client.nodes()["findings"]] == ["server-ingest-gap"]


def test_a_finding_of_the_fleet_about_one_node_stands_with_it(api: Api, node: ReportingNode) -> None:
    node.passes(minutes=1)
    for _ in range(4):
        node.gpu(0).shows(persistence_mode=True, error="gpu_is_lost")
        node.reports()
        node.gpu(0).shows(error=None)
        node.machine(boot_id=f"boot-{node.now}")
        node.passes(minutes=70)

    judge_together(api)

    assert "repeat-offender-host" in api.open_findings("node-3")
