"""Health, metrics and the description of the API."""

from __future__ import annotations

import re

import pytest

from api.endpoints import ENDPOINTS
from gpudiag.client import NotFound, Refused
from tests.api.conftest import Api, ReportingNode


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


def test_ready_means_that_reports_are_taken(api: Api) -> None:
    assert api.ask("GET", "/readyz")["status"] == "ready"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/v1/nodes", 405)])
def test_errors_are_problems(api: Api, method: str, path: str, status: int) -> None:
    with pytest.raises((NotFound, Refused)) as caught:
        api.ask(method, path)

    problem = caught.value.problem
    assert status == problem["status"] and problem["instance"] == path
    assert {"type", "title", "status", "detail", "instance"} <= problem.keys()
    assert "/openapi.json" in problem["detail"]
