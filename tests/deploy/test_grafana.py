"""The dashboard: panels beside each other, names that the real /metrics has, links that open."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gpudiag.model import SEVERITY_ORDER
from tests.api.conftest import Api
from tests.deploy.promql import Series, grouped, named, not_there

DASHBOARD = json.loads(
    (Path(__file__).parents[2] / "deploy" / "grafana" / "gpudiag.json").read_text(encoding="utf-8")
)
PANELS = DASHBOARD["panels"]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
GRAFANAS_OWN = {"__data", "__rate_interval", "__url_time_range"}
WIDTH = 24


def questions() -> Iterator[tuple[str, str, str]]:
    """(where, expression, legend) of all that is asked of Prometheus."""
    for panel in PANELS:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"], target["legendFormat"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"], annotation["titleFormat"]
    _, metric, label = re.split(r"[(, )]+", VARIABLES["node"]["query"]["query"])[:3]
    yield "the variable node", f"max by ({label}) ({metric})", ""


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_what_is_asked_for_is_in_the_real_metrics(scraped: list[Series]) -> None:
    lacking = {
        (where, expression): not_there(expression, set(re.findall(r"\{\{(\w+)\}\}", legend)), scraped)
        for where, expression, legend in questions()
    }

    assert [] == [one for one in lacking.items() if one[1]]
    assert all(named(expression) for _, expression, _ in questions())


def test_panels_have_numbers_of_their_own_and_do_not_lie_on_each_other() -> None:
    cells: Counter[tuple[int, int]] = Counter()
    for place in (panel["gridPos"] for panel in PANELS):
        across = range(place["x"], place["x"] + place["w"])
        assert across.stop <= WIDTH
        cells.update((x, y) for x in across for y in range(place["y"], place["y"] + place["h"]))

    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert max(cells.values()) == 1


def test_every_panel_asks_the_source_that_the_reader_chose() -> None:
    asked = [
        *(panel for panel in PANELS if panel["type"] != "row"),
        *(target for panel in PANELS for target in panel.get("targets", ())),
        *DASHBOARD["annotations"]["list"],
        VARIABLES["node"],
    ]

    assert [] == [one for one in asked if one["datasource"]["uid"] != "${datasource}"]
    assert VARIABLES["datasource"]["query"] == "prometheus"


def test_every_variable_that_is_used_is_there() -> None:
    used = {name for text in texts(DASHBOARD) for name in re.findall(r"\$\{?(\w+)", text)}

    assert used - GRAFANAS_OWN == VARIABLES.keys()


def test_every_severity_can_be_chosen() -> None:
    assert set(VARIABLES["severity"]["query"].split(",")) == set(SEVERITY_ORDER)


def table() -> Any:
    [panel] = [panel for panel in PANELS if panel["type"] == "table"]
    return panel


def test_the_table_orders_and_marks_columns_that_there_are() -> None:
    [organized] = [change["options"] for change in table()["transformations"]]
    columns = grouped(table()["targets"][0]["expr"]) | {"Time", "Value"}
    shown = (columns - organized["excludeByName"].keys() - {"Value"}) | {"since"}

    assert organized["indexByName"].keys() | organized["excludeByName"].keys() == columns
    assert organized["renameByName"] == {"Value": "since"}
    assert {mark["matcher"]["options"] for mark in table()["fieldConfig"]["overrides"]} <= shown


@pytest.mark.parametrize("column", ["rule", "node"])
def test_the_links_of_the_table_open(api: Api, scraped: list[Series], column: str) -> None:
    [mark] = [m for m in table()["fieldConfig"]["overrides"] if m["matcher"]["options"] == column]
    [urls] = [each["value"] for each in mark["properties"] if each["id"] == "links"]
    address = VARIABLES["address"]["query"]
    cells = {one.labels[column] for one in scraped if one.name == "gpudiag_finding"} - {"fleet"}

    outside = [link["url"] for link in urls if link["url"].startswith("${address:raw}/")]
    inside = [link["url"] for link in urls if link["url"] not in outside]

    for cell in cells:
        for url in outside:
            filled = url.replace("${address:raw}", address).replace(
                f"${{__data.fields.{column}:percentencode}}", cell
            )
            assert api.ask("GET", urlsplit(filled).path, headers={"Accept": "text/html"})  # raises if closed
    assert len(cells) > 1 and len(outside) == 1
    assert all(url.startswith(f"/d/{DASHBOARD['uid']}/") for url in inside)
