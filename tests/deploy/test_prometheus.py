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
    not_there,
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


def test_what_an_alert_asks_for_is_in_the_real_metrics(scraped: list[Series]) -> None:
    lacking = {}
    for name, rule in ALERTS.items():
        told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        lacking[name] = not_there(rule["expr"], told, scraped)

    assert {name: [] for name in ALERTS} == lacking


def test_a_name_that_no_metric_has_is_found(scraped: list[Series]) -> None:
    mistyped = 'max by (node, host) (gpudiag_finding{severty="critical"}) / gpudiag_nods'

    assert not_there(mistyped, {"gpu"}, scraped) == [
        "gpudiag_nods",
        "gpudiag_finding: severty",
        "host",
        "gpu",
    ]


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


def test_every_address_opens(api: Api, scraped: list[Series]) -> None:
    told = {
        filled(template, labels)
        for rule in ALERTS.values()
        for labels in true_of(rule["expr"], scraped, 0.0) or [{"node": "fleet"}]
        for template in rule["annotations"].values()
    }

    paths = {urlsplit(url).path for text in told for url in re.findall(r"http://\S+", text)}

    assert {"/runbooks/gpu-lost-bus", "/runbooks/server-ingest-gap", "/nodes/node-2", "/"} <= paths
    for path in paths:
        assert api.ask("GET", path, headers={"Accept": "text/html"})  # raises where it does not open


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
