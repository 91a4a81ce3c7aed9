"""The Compose file and the units of systemd: commands that the program takes, files where it looks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpudiag.cli.completion import whole_parser
from gpudiag.settings import load
from tests.project.test_documents import relative_links

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def settings_of(unit: Path, key: str) -> list[str]:
    lines = [line.partition("=") for line in unit.read_text().splitlines()]
    return [value for name, _, value in lines if name == key]


def environment(unit: Path) -> dict[str, str]:
    words = [word for value in settings_of(unit, "Environment") for word in shlex.split(value)]
    return dict(word.split("=", 1) for word in words)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_runs_a_command_of_ours(name: str) -> None:
    whole_parser().parse_args(SERVICES[name]["command"])


def test_the_agent_of_the_compose_file_reports_to_its_server() -> None:
    server, agent = (whole_parser().parse_args(SERVICES[name]["command"]) for name in ("server", "agent"))
    port = server.port or load(environ={}).serve.port

    assert agent.api == f"http://{server.host}:{port}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_unit_runs_a_command_of_ours_with_settings_that_there_are(unit: Path) -> None:
    [command] = settings_of(unit, "ExecStart")
    program, *words = shlex.split(command)

    assert Path(program).name == "gpudiag"
    whole_parser().parse_args(words)
    load(environ=environment(unit))


def test_the_units_keep_what_lasts_where_systemd_lets_them_write() -> None:
    agent, server, bot = (
        DEPLOY / "systemd" / f"{name}.service" for name in ("gpudiag-agent", "gpudiag", "gpudiag-bot")
    )
    [kept], [door], [store], [state] = (
        settings_of(agent, "StateDirectory"),
        settings_of(agent, "RuntimeDirectory"),
        settings_of(server, "StateDirectory"),
        settings_of(bot, "StateDirectory"),
    )

    assert len({kept, store, state}) == 3
    assert environment(agent)["XDG_STATE_HOME"] + f"/{kept}" == "/var/lib/gpudiag"
    assert door == "gpudiag"
    assert load(environ=environment(server)).serve.store.startswith(f"sqlite:////var/lib/{store}/")
    assert str(load(environ=environment(bot)).bot.state).startswith(f"/var/lib/{state}/")


def test_what_lies_here_is_told() -> None:
    told = {target for _, target, _ in relative_links(DEPLOY / "README.md")}

    assert set(deployed()) <= told


def deployed() -> Iterator[Path]:
    for path in DEPLOY.rglob("*"):
        if path.suffix in (".yaml", ".json", ".service"):
            yield path
