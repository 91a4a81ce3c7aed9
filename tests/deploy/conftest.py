"""The API as tests/api starts it, and what Prometheus reads of it."""

from __future__ import annotations

import pytest

from tests.api.conftest import Api, ReportingNode, api, make_api  # noqa: F401 (fixtures)
from tests.deploy.promql import Series, read_page


@pytest.fixture
def scraped(api: Api) -> list[Series]:  # noqa: F811
    """A fleet that has one of everything, scraped while it reports and once more after it fell silent."""
    nodes = [ReportingNode(f"node-{number}", api) for number in range(4)]
    nodes[3].serves_idle_vllm()
    for node in nodes:
        node.passes(minutes=1)
    nodes[2].loses_its_gpu().passes(minutes=1)
    for node in (nodes[0], nodes[1], nodes[3]):
        node.passes(minutes=1)
    api.client.maintenance("node-1", seconds=3600, by="ann")
    reporting = api.ask("GET", "/metrics")
    api.time_passes(120.0)
    silent = api.ask("GET", "/metrics")
    return [*read_page(reporting, at=0.0), *read_page(silent, at=0.0)]
