"""The alerts: names that the real /metrics has, runbooks that open, and who is called when."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.api.conftest import Api
from tests.deploy.promql import (
    Series,
    filled,
    firing,
    grouped,
    named,
    seconds,
    series_named,
    true_of,
    written_samples,
)

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
[GROUP] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
ALERTS: dict[str, Any] = {rule["alert"]: rule for rule in GROUP["rules"]}
SCENES: dict[str, Any] = yaml.safe_load((FOLDER / "alerts.test.yaml").read_text())
PROMTOOL = shutil.which("promtool")
TARGET = {"job", "instance"}  # what Prometheus adds to everything that it scrapes


def labels_of(series: list[Series], metric: str) -> set[str]:
    return {label for one in series if one.name == metric for label in one.labels}


def test_what_an_alert_asks_for_is_in_the_real_metrics(scraped: list[Series]) -> None:
    missing = []
    for name, rule in ALERTS.items():
        asked = named(rule["expr"])
        known = {label for metric in asked for label in labels_of(scraped, metric)}
        told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        missing += [(name, metric) for metric in asked if not any(one.name == metric for one in scraped)]
        missing += [(name, label) for metric in asked for label in asked[metric] - labels_of(scraped, metric)]
        missing += [(name, label) for label in grouped(rule["expr"]) - known]
        missing += [(name, label) for label in told - grouped(rule["expr"]) - TARGET]

    assert [] == missing


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_says_what_and_what_to_do(name: str) -> None:
    rule = ALERTS[name]

    assert {"summary", "description", "runbook_url"} == rule["annotations"].keys()
    assert rule["labels"]["severity"] in ("page", "ticket") and seconds(rule["for"]) >= 60


def test_the_alerts_of_a_real_fleet(scraped: list[Series]) -> None:
    critical = [labels["rule"] for labels in true_of(ALERTS["GpudiagCritical"]["expr"], scraped, 0.0)]
    warning = [
        (labels["node"], labels["rule"]) for labels in true_of(ALERTS["GpudiagWarning"]["expr"], scraped, 0.0)
    ]

    assert "gpu-lost-bus" in critical
    assert ("fleet", "server-ingest-gap") in warning
    assert "node-1" not in [node for node, _ in warning]  # it is in maintenance
    for name in ALERTS.keys() - {"GpudiagCritical", "GpudiagWarning"}:  # the server itself does well
        assert true_of(ALERTS[name]["expr"], scraped, 0.0) == []


def test_every_runbook_opens(api: Api, scraped: list[Series]) -> None:
    opened = set()
    for rule in ALERTS.values():
        for labels in true_of(rule["expr"], scraped, 0.0) or [{}]:
            path = urlsplit(filled(rule["annotations"]["runbook_url"], labels)).path
            if path not in opened:
                opened.add(path)
                assert "##" in api.ask("GET", path, headers={"Accept": "text/markdown"})

    assert {"/runbooks/gpu-lost-bus", "/runbooks/server-ingest-gap"} <= opened


# --------------------------------------------------------------------------------- the scenes of the file

CHECKS = [
    pytest.param(scene, check, id=f"{check['alertname']} at {check['eval_time']}: {scene['name']}")
    for scene in SCENES["tests"]
    for check in scene["alert_rule_test"]
]


@pytest.mark.parametrize(("scene", "check"), CHECKS)
def test_who_is_called_when(scene: dict[str, Any], check: dict[str, Any]) -> None:
    rule = ALERTS[check["alertname"]]
    interval = seconds(scene["interval"])
    series = [
        series_named(one["series"], written_samples(str(one["values"]), interval))
        for one in scene["input_series"]
    ]

    found = firing(rule, series, seconds(check["eval_time"]), seconds(SCENES["evaluation_interval"]))

    assert check["exp_alerts"] == [
        {
            "exp_labels": labels | rule["labels"],
            "exp_annotations": {
                name: filled(template, labels) for name, template in rule["annotations"].items()
            },
        }
        for labels in found
    ]


def test_every_alert_has_a_scene_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    checks = [check for scene in SCENES["tests"] for check in scene["alert_rule_test"]]

    for fires in (True, False):
        assert {c["alertname"] for c in checks if bool(c["exp_alerts"]) == fires} == ALERTS.keys()


if PROMTOOL is not None:  # Debian's package prometheus; what is read above is read without it, too

    @pytest.mark.parametrize("words", ["check rules alerts.yaml", "test rules alerts.test.yaml"])
    def test_promtool_agrees(words: str) -> None:
        said = subprocess.run([str(PROMTOOL), *words.split()], cwd=FOLDER, capture_output=True, text=True)

        assert said.returncode == 0, said.stdout + said.stderr
