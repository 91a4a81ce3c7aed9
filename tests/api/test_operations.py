"""Health, metrics and the description of the API."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from api.endpoints import ANY_QUERY, ENDPOINTS, OPTIONS
from api.store.engine import MOST_LOG_BYTES
from api.store.snapshots import NewSnapshot
from gpudiag.client import ApiError
from tests.api.conftest import Api, ReportingNode
from tests.waiting import until


def test_every_route_is_described_with_its_role(api: Api) -> None:
    assert api.server is not None
    app = api.server.app
    routes = {
        (method, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)): getattr(
            app.view_functions[rule.endpoint], "needs", "reader"
        )
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not rule.endpoint.startswith("web.") or rule.rule == "/runbooks/<rule>"
    }
    routes["GET", "/runbooks/{rule}"] = "public"

    assert {(e.method, e.path): e.needs for e in ENDPOINTS} == routes


@pytest.mark.parametrize(("method", "path"), OPTIONS, ids=" ".join)
def test_a_mistyped_option_is_refused_with_those_that_there_are(api: Api, method: str, path: str) -> None:
    asked = re.sub(r"{\w+}", "node-3", path) + "?limt=5"

    with pytest.raises(ApiError) as caught:
        api.ask(method, asked, headers={"Accept": "text/plain"})

    assert caught.value.answered == 400
    assert f"no option 'limt' here; there are: {', '.join(OPTIONS[method, path])}" in str(caught.value)


def test_a_mistyped_option_of_the_rules_is_refused_where_they_are_text_and_passed_over_on_their_pages(
    api: Api,
) -> None:
    for path in ("/runbooks", "/runbooks/gpu-free"):
        assert "<html" in api.ask("GET", f"{path}?utm_source=chat", headers={"Accept": "text/html"})
        with pytest.raises(ApiError, match="there are: lang"):
            api.ask("GET", f"{path}?langg=ko", headers={"Accept": "*/*"})


def test_a_probe_may_add_what_it_likes(api: Api) -> None:
    for path in ANY_QUERY & {"/healthz", "/readyz"}:
        assert "status" in api.ask("GET", f"{path}?t=1764400000")


def test_the_description_is_whole(api: Api) -> None:
    said = api.ask("GET", "/openapi.json")

    assert said["openapi"].startswith("3.1")
    known = set(said["components"]["schemas"])
    used = set(re.findall(r"#/components/schemas/(\w+)", str(said)))
    assert used <= known
    ids = [op["operationId"] for path in said["paths"].values() for op in path.values()]
    assert len(ids) == len(set(ids))


def test_prometheus_reads_findings(api: Api) -> None:
    node = ReportingNode("node-6", api)
    node.passes(minutes=1).loses_its_gpu().passes(minutes=1)

    text = api.ask("GET", "/metrics")

    line = re.compile(r'^(#.*|[a-z_]+(\{([a-z_]+="(\\.|[^"\\])*",?)*\})? -?[0-9.e+]+)$')
    assert [written for written in text.splitlines() if not line.match(written)] == []
    assert re.search(
        r'gpudiag_finding\{node="node-6",gpu="0",.*rule="gpu-lost-bus",severity="critical"', text
    )
    assert 'gpudiag_nodes{severity="critical"} 1' in text
    series = [written.rsplit(" ", 1)[0] for written in text.splitlines() if not written.startswith("#")]
    assert len(series) == len(set(series))


def test_prometheus_reads_what_many_nodes_share_and_of_what_nobody_is_to_be_told(api: Api) -> None:
    for number in range(4):
        ReportingNode(f"node-{number}", api).passes(minutes=1)
    api.client.maintenance("node-2", seconds=3600, by="ann")
    api.time_passes(120.0)

    text = api.ask("GET", "/metrics")

    assert 'gpudiag_finding{node="fleet",rule="server-ingest-gap",severity="warning"' in text
    told = re.findall(r'gpudiag_finding\{node="(node-\d)",[^}]*,quiet="maintenance"\}', text)
    assert set(told) == {"node-2"}


def test_prometheus_reads_what_a_gpu_reads_and_nothing_in_place_of_what_it_does_not(
    api: Api, node: ReportingNode
) -> None:
    node.gpu(0).shows(utilization_percent=97.0, temperature_celsius=61, power_watts=None)
    node.passes(minutes=1)

    text = api.ask("GET", "/metrics")

    assert 'gpudiag_gpu_utilization_percent{node="node-3",gpu="0"} 97.0\n' in text
    assert 'gpudiag_gpu_temperature_celsius{node="node-3",gpu="0"} 61.0\n' in text
    assert "gpudiag_gpu_power_watts{" not in text


def test_prometheus_reads_nothing_old_of_a_silent_node(api: Api, node: ReportingNode) -> None:
    node.gpu(0).shows(utilization_percent=97.0)
    node.passes(minutes=1)
    assert "gpudiag_gpu_utilization_percent{" in api.ask("GET", "/metrics")

    api.time_passes(120.0)

    text = api.ask("GET", "/metrics")
    assert "gpudiag_gpu_utilization_percent{" not in text
    assert 'gpudiag_snapshot_age_seconds{node="node-3"} 120.0\n' in text


def test_ready_means_that_reports_are_taken(api: Api) -> None:
    assert api.ask("GET", "/readyz")["status"] == "ready"


def test_a_log_that_a_reader_keeps_is_told_until_it_ends(
    api: Api, node: ReportingNode, tmp_path: Path
) -> None:
    node.reports()
    store = api.parts.store
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite3")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM nodes").fetchone()
        for number in range(40):
            with store.writing() as connection:
                store.snapshots.add(connection, [NewSnapshot(1, number, number, 7, number, bytes(2 << 20))])
        told = until(lambda: api.ask("GET", "/readyz").get("note"))
        kept = re.search(r"^gpudiag_store_log_kept_bytes (\d+)$", api.ask("GET", "/metrics"), re.MULTILINE)

    assert "MiB that cannot be moved" in told
    assert kept is not None and int(kept[1]) > MOST_LOG_BYTES
    until(lambda: "note" not in api.ask("GET", "/readyz"))
    assert api.ask("GET", "/readyz")["status"] == "ready"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/v1/nodes", 405)])
def test_errors_are_problems(api: Api, method: str, path: str, status: int) -> None:
    with pytest.raises(ApiError) as caught:
        api.ask(method, path)

    problem = caught.value.problem
    assert status == problem["status"] and problem["instance"] == path
    assert {"type", "title", "status", "detail", "instance"} <= problem.keys()
    assert "/openapi.json" in problem["detail"]


def visited(api: Api, path: str, accept: str) -> tuple[int, str, str]:
    """(status, content type, body) of a visit without any page behind the address."""
    request = urllib.request.Request(api.url + path, headers={"Accept": accept, "Accept-Language": "ko"})
    with pytest.raises(urllib.error.HTTPError) as caught, urllib.request.urlopen(request):
        pass
    with caught.value as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nothing", "/v2/nodes", "/%3Cscript%3Ealert(1)%3C/script%3E"])
def test_a_browser_at_an_address_that_nothing_owns_gets_a_page(api: Api, path: str) -> None:
    status, kind, body = visited(api, path, BROWSER)

    assert (status, kind) == (404, "text/html; charset=utf-8")
    assert "주소에는 페이지가 없습니다." in body
    assert all(f'href="{link}"' in body for link in ("/", "/explain", "/kv", "/runbooks"))
    assert "<script" not in body


def test_the_page_of_an_address_that_nothing_owns_leads_to_no_other_site(api: Api) -> None:
    *_, body = visited(api, "//elsewhere.example/x", BROWSER)

    assert 'href="//elsewhere' not in body


def test_a_browser_that_asks_in_a_way_that_a_page_is_not_for_gets_a_page(api: Api) -> None:
    status, kind, body = visited(api, "/logout", BROWSER)

    assert (status, kind) == (405, "text/html; charset=utf-8")
    assert 'href="/runbooks"' in body


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html;q=0.5"])
def test_a_program_at_an_address_that_nothing_owns_gets_a_problem(api: Api, accept: str) -> None:
    status, kind, body = visited(api, "/nothing", accept)

    assert (status, kind) == (404, "application/problem+json")
    assert "/openapi.json" in body
