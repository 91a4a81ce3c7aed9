"""What the API says of nodes that report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gpudiag.client import Client, NotFound, Refused
from gpudiag.explain import iso
from gpudiag.rules.situations import GIB
from tests.api.conftest import Api, ReportingNode

LOAD = ("memory_used_bytes", "memory_total_bytes", "utilization_percent")
NODES = ("node-1", "node-2", "node-3")


def test_a_reserved_pool_that_idles_is_normal(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    verdict = api.client.diagnosis("node-3")["verdict"]

    assert (verdict["severity"], verdict["rule"]) == ("ok", "kv-pool-reserved-idle")
    assert verdict["headline"] == "memory full, util 0%: reserved KV pool, normal"


@pytest.mark.parametrize(
    ("lang", "headline"),
    [
        ("en", "cannot tell yet: there are too few samples so far"),
        ("ko", "아직 판단할 수 없습니다: 샘플이 아직 부족합니다"),
    ],
)
def test_a_node_that_just_began_to_report_is_not_said_to_hide_samples(
    node: ReportingNode, api: Api, lang: str, headline: str
) -> None:
    node.serves_idle_vllm().serves("vllm", requests_running=24.0)
    node.reports()

    verdict = api.client.diagnosis("node-3", lang=lang)["verdict"]

    assert (verdict["rule"], verdict["headline"]) == ("not-enough-evidence", headline)


def test_curl_reads_the_same_in_80_columns(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    text = api.ask("GET", "/diagnose?node=node-3", headers={"Accept": "*/*"})

    assert text.splitlines()[0] == "memory full, util 0%: reserved KV pool, normal"
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("how", ["?node=node-3&format=json", "/node-3"])
def test_diagnose_answers_json_when_asked(node: ReportingNode, api: Api, how: str) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    said = api.ask("GET", f"/diagnose{how}", headers={"Accept": "application/json"})

    assert said["verdict"]["rule"] == "kv-pool-reserved-idle"


def test_korean_is_answered_to_those_who_read_it(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    by_query = api.client.diagnosis("node-3", lang="ko")["language"]
    by_header = api.ask("GET", "/v1/nodes/node-3", headers={"Accept-Language": "ko-KR,ko;q=0.9,en;q=0.5"})

    assert (by_query, by_header["language"]) == ("ko", "ko")


def test_the_fleet_is_listed_worst_first_and_page_by_page(api: Api) -> None:
    for name in ("node-1", "node-2", "node-10"):
        ReportingNode(name, api).serves_idle_vllm().passes(minutes=1)
    broken = ReportingNode("node-9", api).serves_idle_vllm()
    broken.passes(minutes=1).loses_its_gpu().passes(minutes=1)

    names, cursor = [], None
    while True:
        page = api.client.nodes(limit=2, cursor=cursor)
        names += [item["node"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break

    assert names == ["node-9", "node-1", "node-2", "node-10"]
    assert [item["node"] for item in api.client.nodes(severity="critical")["items"]] == ["node-9"]


def test_the_next_page_skips_nobody_though_nodes_changed_places(api: Api) -> None:
    for name in ("node-1", "node-2", "node-02", "node-10"):
        ReportingNode(name, api).serves_idle_vllm().passes(minutes=1)
    first = api.client.nodes(limit=2)
    api.client.forget_node(first["items"][0]["node"])

    second = api.client.nodes(limit=2, cursor=first["next"])

    assert [item["node"] for page in (first, second) for item in page["items"]] == [
        "node-1", "node-02", "node-2", "node-10"
    ]  # fmt: skip
    assert second["next"] is None


def test_a_node_in_capitals_is_known_by_its_name(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1)

    with pytest.raises(NotFound) as caught:
        api.client.diagnosis("NODE-3")

    assert caught.value.nearest == ["node-3"]


@pytest.mark.parametrize("mistyped", ["node=&gpu=0", "at=10m", "gpu=0"])
def test_a_mistyped_question_about_a_node_is_not_answered_with_the_fleet(
    mistyped: str, node: ReportingNode, api: Api
) -> None:
    node.passes(minutes=1)

    with pytest.raises(HTTPError) as caught:
        urlopen(f"{api.url}/diagnose?{mistyped}")

    assert caught.value.code == 400
    assert "/diagnose?node=NODE" in caught.value.read().decode()


def test_an_unknown_node_names_the_nearest(node: ReportingNode, api: Api) -> None:
    node.reports()

    with pytest.raises(NotFound) as caught:
        api.client.diagnosis("nod-3")

    assert caught.value.nearest == ["node-3"]
    assert "node-3" in str(caught.value)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["node-1"], "these report: node-1"),
        ([f"node-{number}" for number in range(1, 7)], "node-1, node-2, node-3, node-4 and 2 more"),
    ],
)
def test_a_name_like_no_nodes_is_answered_with_some_that_report(
    api: Api, names: list[str], told: str
) -> None:
    for name in names:
        ReportingNode(name, api).reports()

    with pytest.raises(NotFound, match=told):
        api.client.diagnosis("xyz")


def test_a_refusal_ends_its_line_for_those_who_use_curl(api: Api) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{api.url}/diagnose?node=nod-3", timeout=10)

    assert caught.value.read().endswith(b"}\n")


def test_one_gpu_is_answered_by_its_own_verdict(api: Api) -> None:
    node = ReportingNode("node-6", api, gpus=2)
    node.passes(minutes=1).loses_its_gpu().passes(minutes=1)

    said = api.client.diagnosis("node-6", gpu=1)

    assert [gpu["index"] for gpu in said["gpus"]] == [1]
    assert said["verdict"]["severity"] != "critical"
    with pytest.raises(NotFound, match="no GPU 7"):
        api.client.diagnosis("node-6", gpu=7)


def test_the_fleet_as_text_says_what_is_found_of_many_and_what_to_do_where_nothing_reports(api: Api) -> None:
    nothing = api.client.fleet_text()
    for number in range(4):
        ReportingNode(f"node-{number}", api).passes(minutes=1)
    api.time_passes(600.0)

    said = api.client.fleet_text().splitlines()

    assert "gpudiag agent --api" in nothing
    assert said[0].startswith("warning  3 of 4 nodes went silent at once")
    assert len([line for line in said if line.startswith("node-")]) == 4
    assert said[-1].startswith("Why a node is so: curl 'http://") and "/diagnose?node=node-" in said[-1]


def listed(api: Api, node: str) -> dict[str, Any]:
    return next(item for item in api.client.nodes()["items"] if item["node"] == node)


def test_a_listed_node_tells_what_its_gpus_hold_and_do(api: Api) -> None:
    node = ReportingNode("node-1", api, gpus=2)
    node.gpu(0).shows(memory_used_bytes=70 * GIB, memory_total_bytes=80 * GIB, utilization_percent=90.0)
    node.gpu(1).shows(memory_used_bytes=10 * GIB, memory_total_bytes=80 * GIB, utilization_percent=15.0)
    node.passes(minutes=1)

    item = listed(api, "node-1")

    assert (item["gpus"], item["utilization_percent"]) == (2, 52.5)
    assert (item["memory_used_bytes"], item["memory_total_bytes"]) == (80 * GIB, 160 * GIB)


@pytest.mark.parametrize("hidden", LOAD)
def test_of_a_load_that_one_gpu_does_not_tell_no_part_is_listed(api: Api, hidden: str) -> None:
    node = ReportingNode("node-1", api, gpus=2)
    node.gpu(1).hides(hidden)
    node.passes(minutes=1)

    item = listed(api, "node-1")

    assert [hidden] == [name for name in LOAD if item[name] is None]


def test_of_a_silent_node_no_load_is_listed_as_if_it_were_of_now(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    api.time_passes(60.0)

    item = listed(api, "node-3")

    assert [None] * 3 == [item[name] for name in LOAD]
    assert item["gpus"] == 1


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_list_tells_a_silence_as_old_as_the_nodes_own_answer_does(
    node: ReportingNode, api: Api, lang: str
) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    api.time_passes(100.0)
    before = api.client.nodes(lang=lang)["items"][0]["verdict"]
    api.clock.now += 5.0  # nobody judges it again so soon

    listed_as = api.client.nodes(lang=lang)["items"][0]["verdict"]

    assert listed_as != before
    assert listed_as == api.client.diagnosis("node-3", lang=lang)["verdict"]


def test_of_a_silent_node_each_gpu_is_unknown_for_its_silence(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    api.time_passes(60.0)

    [gpu] = api.client.diagnosis("node-3")["gpus"]

    assert gpu["verdict"]["severity"] == "unknown"
    assert gpu["verdict"]["headline"] == "cannot tell: node-3 does not report any more"


def test_while_an_agent_catches_up_no_load_is_listed_as_if_it_were_of_now(
    node: ReportingNode, api: Api
) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    late = node.unsent(minutes=10)
    api.clock.now = node.now
    api.send(*late[:10])

    assert [None] * 3 == [listed(api, "node-3")[name] for name in LOAD]


def test_a_node_that_fell_silent_over_what_it_kept_is_not_said_to_send_still(
    node: ReportingNode, api: Api
) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    late = node.unsent(minutes=10)
    api.clock.now = node.now
    api.send(*late[:10])
    api.time_passes(60.0)
    api.clock.now += 3.0

    said = api.client.diagnosis("node-3")

    assert said["verdict"]["rule"] == "agent-stale"
    assert said["verdict"] == api.client.nodes()["items"][0]["verdict"]
    assert [] == [note for note in said["notes"] if "still sending" in note]


def test_where_the_driver_does_not_answer_nobody_knows_how_many_gpus_there_are(
    node: ReportingNode, api: Api
) -> None:
    node.passes(minutes=1)
    node.gpus.clear()
    node.nvml.error = "driver_not_loaded"
    node.passes(minutes=1)

    assert listed(api, "node-3")["gpus"] is None


def test_the_fleet_as_text_tells_the_load_of_each_node_in_columns(api: Api) -> None:
    idle, busy, hidden = (
        ReportingNode(name, api, gpus) for name, gpus in zip(NODES, (1, 16, 1), strict=True)
    )
    idle.serves_idle_vllm()
    busy.all_gpus(utilization_percent=97.0, memory_used_bytes=60 * GIB)
    hidden.gpu(0).hides(*LOAD)
    for _ in range(36):
        for node in (idle, busy, hidden):
            node.reports()

    lines = api.client.fleet_text().splitlines()
    loads = {name: lines[lines.index(line) + 1] for line in lines if (name := line.split(" ")[0]) in NODES}

    assert "1 × GPU   mem 75.0 / 79.6 GiB " in loads["node-1"]
    assert "16 × GPU  mem 960.0 / 1,274.4 GiB  util 97 % " in loads["node-2"]
    assert "1 × GPU   mem –                    util –    " in loads["node-3"]
    assert {line.index("data ") for line in loads.values()} == {loads["node-1"].index("data ")}
    assert max(map(len, lines)) <= 80


def test_a_window_is_judged_by_what_lies_in_it(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=8)

    said = api.client.diagnosis("node-3", window="1m")
    spans = {e["window_seconds"] for e in said["gpus"][0]["findings"][0]["evidence"] if e["window_seconds"]}

    assert said["verdict"]["rule"] == "kv-pool-reserved-idle"
    assert max(spans) <= 60
    assert said["observed"]["samples"] in range(50, 71)


def test_the_past_is_judged_again(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=8)
    before = api.clock.now - 5
    node.loses_its_gpu().passes(minutes=3)

    assert api.client.diagnosis("node-3")["verdict"]["severity"] == "critical"
    assert api.client.diagnosis("node-3", at=before)["verdict"]["rule"] == "kv-pool-reserved-idle"
    assert api.client.diagnosis("node-3", at="4m")["verdict"]["rule"] == "kv-pool-reserved-idle"


def test_a_look_at_the_past_says_of_which_moment_it_is(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=8)
    then = iso(api.clock.now - 240)[:16].replace("T", " ")

    def said(question: str) -> str:
        return " ".join(api.ask("GET", f"/diagnose/node-3{question}", headers={"Accept": "*/*"}).split())

    assert f"as of {then} UTC · data " in said("?at=4m")
    assert f"{then} UTC 기준 · " in said("?at=4m&lang=ko")
    assert "as of" not in said("")


def test_a_silent_nodes_verdict_lasts_since_its_last_report(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=8)
    heard_at = api.clock.now
    for _ in range(60):
        api.time_passes(10)
        [listed] = api.client.nodes()["items"]

    assert (listed["verdict"]["rule"], listed["changed_at"]) == ("agent-stale", iso(heard_at))
    node.now = api.clock.now
    node.reports()
    [listed] = api.client.nodes()["items"]
    assert listed["verdict"]["rule"] != "agent-stale"
    assert listed["changed_at"] == iso(api.clock.now)


def test_a_silence_is_as_long_in_a_look_at_the_past(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=2)
    late = node.unsent(seconds=60)
    api.clock.now = node.now + 60
    api.send(*late)
    api.time_passes(600)
    now, past = (api.client.diagnosis("node-3", at=at) for at in (None, api.clock.now))

    assert now["verdict"]["rule"] == past["verdict"]["rule"] == "agent-stale"
    assert silence_in(now) == silence_in(past) == 660


def silence_in(said: dict[str, Any]) -> int:
    """Seconds since the last report, by the finding."""
    [seconds] = [e["value"] for f in said["findings"] for e in f["evidence"] if e["name"] == "age_seconds"]
    return int(seconds)


def rules_in(said: dict[str, Any]) -> list[str]:
    """The rules of all findings, in order."""
    return [f["rule"] for f in said["findings"]] + [f["rule"] for g in said["gpus"] for f in g["findings"]]


def test_what_another_finding_accounts_for_is_not_named_of_the_past_either(
    node: ReportingNode, api: Api
) -> None:
    node.serves_idle_vllm()
    node.serves("vllm", metrics_ok=False, health_ok=False, port_open=True)
    node.passes(minutes=2)
    before = rules_in(api.client.diagnosis("node-3"))
    node.serves("vllm", port_open=False, parent_alive=False)
    node.runs(pid=4121, parent_pid=1, parent_name="systemd")
    node.passes(minutes=1)
    now = rules_in(api.client.diagnosis("node-3"))

    assert ("engine-metrics-unreachable" in before, "engine-metrics-unreachable" in now) == (True, False)
    assert rules_in(api.client.diagnosis("node-3", at=api.clock.now)) == now


def test_what_several_nodes_showed_together_is_told_of_the_past(node: ReportingNode, api: Api) -> None:
    for _ in range(3):
        node.gpu(0).shows(clocks_event_reasons=0x80, utilization_percent=90.0)
        node.passes(minutes=1)
        node.gpu(0).shows(clocks_event_reasons=0x1, utilization_percent=0.0)
        node.passes(minutes=11)
    api.parts.writer.do(lambda: api.parts.clockwork.rounds.judge_together(api.clock.now))
    now = rules_in(api.client.diagnosis("node-3"))

    assert "finding-flapping" in now
    assert "finding-flapping" in rules_in(api.client.diagnosis("node-3", at=api.clock.now))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_nobody_is_told_to_wait_in_the_past(node: ReportingNode, api: Api, lang: str) -> None:
    node.passes(minutes=8)
    wait = {"en": "wait ", "ko": "더 기다리십시오"}[lang]

    def remedies(**moment: Any) -> list[str]:
        said = api.client.diagnosis("node-3", lang=lang, **moment)
        unjudged = [*said["unjudged"], *(entry for gpu in said["gpus"] for entry in gpu["unjudged"])]
        return [entry["enable"] for entry in unjudged if entry["reason"] == "too_short"]

    assert [enable for enable in remedies() if wait in enable] == remedies() != []
    assert [enable for enable in remedies(at="2m") if wait in enable] == []
    assert remedies(at="2m") != []


def test_the_past_before_the_first_report_is_not_made_up(node: ReportingNode, api: Api) -> None:
    node.passes(minutes=1)

    with pytest.raises(NotFound, match="the oldest snapshot kept"):
        api.client.diagnosis("node-3", at="2h")


@pytest.mark.parametrize(
    "question",
    ["/v1/nodes/node-3?at=yesterdayish", "/v1/nodes/node-3?gpu=x", "/v1/nodes?limit=0",
     "/v1/nodes?severity=bad", "/v1/findings?after=x", "/diagnose?format=xml",
     "/v1/nodes/node-3/history?metrics=nix",
     "/v1/nodes/node-3?window=long", "/v1/nodes?lang=fr"],
)  # fmt: skip
def test_a_question_that_cannot_be_read_says_why(node: ReportingNode, api: Api, question: str) -> None:
    node.reports()

    with pytest.raises(Refused) as caught:
        api.ask("GET", question)

    assert caught.value.problem["status"] == 400


def test_history_has_rows_for_charts(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    series = api.client.history("node-3", span="5m")["gpus"][0]["series"]

    assert len(series["memory_used_bytes"]) == 30
    assert series["utilization_percent"][-1][1] == 0.0


def test_thresholds_of_the_settings_are_in_force(make_api: Callable[..., Api], tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = tmp_path / "gpudiag.toml"
    config.write_text("[rules.kv-pool-reserved-idle]\nmax_change_share = -1.0\n")
    api = make_api(config=str(config))
    ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=6)

    assert "kv-pool-reserved-idle" not in api.open_findings("node-3")


def test_a_snapshot_is_diagnosed_without_being_stored(node: ReportingNode, api: Api) -> None:
    body = node.serves_idle_vllm().unsent(seconds=10)[0]

    said = api.ask("POST", "/diagnose?format=json", body)

    assert said["node"] == "node-3"
    assert api.client.nodes()["items"] == []


def test_rules_and_runbooks_are_served(api: Api) -> None:
    rules = {item["rule"]: item for item in api.client.rules()["items"]}

    assert "min_used_share" in rules["kv-pool-reserved-idle"]["thresholds"]
    assert api.client.runbook("kv-pool-reserved-idle").startswith("# memory full")
    assert "<html" in api.ask("GET", "/runbooks/kv-pool-reserved-idle", headers={"Accept": "text/html"})
    with pytest.raises(NotFound, match="kv-pool-reserved-idle"):
        api.client.runbook("kv-pool-reserved-idl")


def test_the_public_address_makes_links_absolute(make_api: Callable[..., Api], tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = tmp_path / "gpudiag.toml"
    config.write_text('[serve]\npublic_url = "http://gpu.example.org"\n')
    api = make_api(config=str(config))
    ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=6)

    finding = api.client.diagnosis("node-3")["gpus"][0]["findings"][0]

    assert finding["runbook_url"] == "http://gpu.example.org/runbooks/kv-pool-reserved-idle"


def test_nobody_answering_is_told_with_the_address() -> None:
    from gpudiag.client import Unreachable

    with (
        Client("http://127.0.0.1:9") as client,
        pytest.raises(Unreachable, match="nothing listens at"),
    ):
        client.nodes()
