"""A command that asks an inference server asks the one that was seen, at its own address."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import Finding
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.words import LANGUAGES, Language

HEALTH = "curl -m 2 -sf {}/health && echo alive"


def commands(s: Situation, rule: str, language: Language = "en") -> list[str]:
    said = explain(examine(s.window), language)
    findings = said.findings + [finding for gpu in said.gpus for finding in gpu["findings"]]
    steps = next(f["next_steps"] for f in findings if f["rule"] == rule)
    return [step["command"] for step in steps if step["command"]]


def served(**engine: Any) -> Situation:
    s = vllm_idle(minutes=0)
    s.serves("vllm", **engine)
    return s.passes(minutes=6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pool_whose_server_does_not_answer_names_where_to_ask(language: Language) -> None:
    s = served(address="http://127.0.0.1:8011", health_ok=False, metrics_ok=False)

    assert HEALTH.format("http://127.0.0.1:8011") in commands(s, "kv-pool-reserved-idle", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_orphan_names_where_its_server_was(language: Language) -> None:
    s = served(
        address="http://10.42.0.7:30000", health_ok=False, metrics_ok=False, port_open=False,
        parent_alive=False,
    )  # fmt: skip

    assert HEALTH.format("http://10.42.0.7:30000") in commands(s, "orphaned-engine", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wedged_server_is_asked_at_its_own_port(language: Language) -> None:
    s = vllm_idle(minutes=0)
    s.gpu(0).shows(power_watts=90.0)
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0, address="http://127.0.0.1:8011")
    asked = commands(s.passes(minutes=6), "serving-wedged", language)

    assert any("curl -m 5 -s http://127.0.0.1:8011/metrics" in command for command in asked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_server_that_sleeps_is_woken_at_its_own_port(language: Language) -> None:
    s = served(address="http://127.0.0.1:8011/", sleeping=True)

    assert ["curl -X POST http://127.0.0.1:8011/wake_up"] == commands(s, "engine-asleep", language)


@pytest.mark.parametrize("address", [None, "http://h:1/;reboot", "http://$(id):1", "http://h:1 -o x", "h:1"])
def test_an_address_that_a_shell_would_obey_or_that_is_not_known_is_not_used(address: str | None) -> None:
    s = served(address=address, health_ok=False, metrics_ok=False)

    assert HEALTH.format("localhost:8000") in commands(s, "kv-pool-reserved-idle")


def test_an_orphan_without_an_engine_is_asked_for_at_the_usual_port() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB, power_watts=70.0)
    s.runs({0: 60 * GIB}, pid=4711, name="VLLM::EngineCore", command="VLLM::EngineCore", parent_pid=1)
    s.passes(minutes=6)

    assert HEALTH.format("localhost:8000") in commands(s, "orphaned-engine")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_an_older_version_did_not_note_is_left_to_who_types_it(language: Language) -> None:
    checkup = examine(vllm_idle(minutes=6).window)
    checkup.findings = [Finding("orphaned-engine", "critical", "proven", gpu=0, words={"pid": 4121})]
    (finding,) = explain(checkup, language).gpus[0]["findings"]
    commands = [step["command"] for step in finding["next_steps"] if step["command"]]

    assert HEALTH.format("ADDRESS") in commands
    assert [command for command in commands if "?" in command] == []
