"""Settings: one TOML file and `GPUDIAG_…` variables → one frozen value.

`OPTIONS` is the one table of them: a command's options, the variable and the key in the file have the same
name. What is given on the command line wins over the environment, and that over the file. All mistakes are
told at once.

    [serve]                                  [rules.thermal-hw-slowdown]     [nodes."gpu-*"]
    port = 8000                              min_share = 0.2                 expected_gpus = 8
    keep = "7d"                                                              workloads = ["vllm", "training"]
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gpudiag.errors import GpudiagError
from gpudiag.settings.values import (
    Wants,
    address,
    count,
    interval,
    keeping,
    language,
    path,
    port,
    seconds,
    store_url,
    text,
)
from gpudiag.words import Language, language_at
from gpudiag.words.refusals import Refusal

__all__ = [
    "OPTIONS",
    "AgentSettings",
    "BotSettings",
    "EngineSettings",
    "NodeSettings",
    "Option",
    "ServeSettings",
    "Settings",
    "SettingsError",
    "add_options",
    "from_options",
    "load",
    "seconds",
    "spoken_by",
]


class SettingsError(GpudiagError):
    """Settings are wrong; its sentence lists every mistake, one a line."""

    def __init__(self, *mistakes: GpudiagError) -> None:
        super().__init__(*mistakes)
        self.mistakes = mistakes

    def said(self, language: str) -> str:
        told = [mistake.said(language) for mistake in self.mistakes]
        return "\n".join(dict.fromkeys(told))  # a variable that several sections share is one mistake

    def __str__(self) -> str:
        return self.said("en")


# ------------------------------------------------------------------------------------- the options


class Option(NamedTuple):
    """One option of one or more commands; `sections` are their tables in the file."""

    name: str
    sections: tuple[str, ...]
    read: Callable[[Any], Any]
    help: str  # with the default of the section in parentheses
    metavar: str | None = None
    variable: str | None = None

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def variable_in(self, section: str) -> str:
        return self.variable or f"GPUDIAG_{self.name.upper()}"


OPTIONS: tuple[Option, ...] = (
    Option("host", ("serve", "bot"), text, "address to listen on (127.0.0.1)"),
    Option("port", ("serve",), port, "port to listen on (8000)"),
    Option("port", ("bot",), port, "port to listen on (3000)", variable="GPUDIAG_BOT_PORT"),
    Option("store", ("serve",), store_url, "sqlite:///PATH or postgresql://… (a file of yours)", "URL"),
    Option("keep", ("serve",), keeping, "how long snapshots are kept (7d)", "SPAN"),
    Option("public_url", ("serve", "bot"), address, "address under which people reach it", "URL"),
    Option("api", ("agent",), address, "address of the API", "URL"),
    Option("node", ("agent",), text, "name of this node (the host name)", "NAME"),
    Option("interval", ("agent",), interval, "time between two snapshots (10s)", "SPAN"),
    Option("token_file", ("agent", "bot"), path, "file that holds the bearer token", "FILE"),
    Option("spool", ("agent",), path, "folder for snapshots that could not be sent", "FOLDER"),
    Option("spool_bytes", ("agent",), count, "how large the spool may grow (64 MiB)", "BYTES"),
    Option("api_url", ("bot",), address, "address of the API", "URL"),
    Option("state", ("bot",), path, "the bot's own small file", "FILE", "GPUDIAG_BOT_STATE"),
    Option("lang", ("serve", "agent", "bot"), language, "language of answers: en or ko", "LANG"),
)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The API and web pages."""

    host: str = "127.0.0.1"
    port: int = 8000
    store: str | None = None
    keep: float = 7 * 86_400.0
    public_url: str | None = None
    lang: str = "en"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The per-host agent."""

    api: str = "http://127.0.0.1:8000"
    node: str | None = None
    interval: float = 10.0
    token_file: str | None = None
    spool: str | None = None
    spool_bytes: int = 64 << 20
    lang: str = "en"


@dataclass(frozen=True, slots=True)
class BotSettings:
    """The chat bot. Slack's own secrets keep Slack's names and are read by the bot itself."""

    host: str = "127.0.0.1"
    port: int = 3000
    api_url: str = "http://127.0.0.1:8000"
    public_url: str | None = None
    token_file: str | None = None
    state: str | None = None
    lang: str = "en"


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What is declared about the nodes whose names match `pattern` (`*` and `?` as in a shell)."""

    pattern: str
    expected_gpus: int | None = None
    workloads: tuple[str, ...] | None = None  # the only ones that are allowed


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """A declared inference server, read by the agent."""

    engine: str
    address: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything; sections as in the file. `rules` is {rule: {threshold: value}}."""

    serve: ServeSettings = field(default_factory=ServeSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    bot: BotSettings = field(default_factory=BotSettings)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    nodes: tuple[NodeSettings, ...] = ()
    engines: tuple[EngineSettings, ...] = ()

    def declared(self, node: str) -> NodeSettings:
        """What is declared about `node`: of the patterns that match, the first that says something."""
        matching = [entry for entry in self.nodes if fnmatch.fnmatchcase(node, entry.pattern)]
        gpus = next((m.expected_gpus for m in matching if m.expected_gpus is not None), None)
        workloads = next((m.workloads for m in matching if m.workloads is not None), None)
        return NodeSettings(node, gpus, workloads)


def spoken_by(program: ServeSettings | AgentSettings | BotSettings, option: str | None) -> Language:
    """What a program says on the terminal where it runs: as its settings say, else as the person speaks."""
    return language_at(os.environ, program.lang if program.lang != "en" else option)


SECTIONS: dict[str, type] = {"serve": ServeSettings, "agent": AgentSettings, "bot": BotSettings}


# --------------------------------------------------------------------------------------- reading


def add_options(parser: argparse.ArgumentParser, section: str, *leave_out: str) -> None:
    """Give a command the options of its section, and `--config`."""
    parser.add_argument("--config", metavar="FILE", help="settings file in TOML; GPUDIAG_CONFIG")
    for option in OPTIONS:
        if section in option.sections and option.name not in leave_out:
            parser.add_argument(
                option.flag,
                dest=option.name,
                metavar=option.metavar or option.name.upper(),
                help=f"{option.help}; {option.variable_in(section)}",
            )


def load(
    config: str | None = None,
    environ: Mapping[str, str] | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """Read the file, the environment and what a command line gave ({section: {option: value}}).

    Raises SettingsError that lists every mistake.
    """
    environ = os.environ if environ is None else environ
    config = config or environ.get("GPUDIAG_CONFIG")
    mistakes: list[GpudiagError] = []
    document = _document(config) if config else {}
    where = config or "settings"
    known = {*SECTIONS, "rules", "nodes", "engines"}
    mistakes += [
        Refusal("settings-no-table", place=where, name=name, known=", ".join(sorted(known)))
        for name in sorted(document.keys() - known)
    ]
    sections = {
        name: make(
            **_section(name, document.get(name, {}), environ, (given or {}).get(name, {}), where, mistakes)
        )
        for name, make in SECTIONS.items()
    }
    settings = Settings(
        **sections,
        rules=_rules(document.get("rules", {}), where, mistakes),
        nodes=_nodes(document.get("nodes", {}), where, mistakes),
        engines=_engines(document.get("engines", []), where, mistakes),
    )
    if mistakes:
        raise SettingsError(*mistakes)
    return settings


def from_options(options: argparse.Namespace, *sections: str) -> Settings:
    """The settings of a command whose options came from `add_options`."""
    given = {
        section: {
            option.name: getattr(options, option.name)
            for option in OPTIONS
            if section in option.sections and getattr(options, option.name, None) is not None
        }
        for section in sections
    }
    return load(getattr(options, "config", None), given=given)


def _document(config: str) -> dict[str, Any]:
    try:
        content = Path(config).expanduser().read_bytes()
    except OSError as error:
        raise SettingsError(Refusal("settings-unreadable", file=config, reason=error)) from None
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise SettingsError(Refusal("settings-not-text", file=config)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(Refusal("settings-not-toml", file=config, reason=error)) from None


def _section(
    section: str,
    table: Any,
    environ: Mapping[str, str],
    given: Mapping[str, Any],
    where: str,
    mistakes: list[GpudiagError],
) -> dict[str, Any]:
    options = [option for option in OPTIONS if section in option.sections]
    if not isinstance(table, dict):
        mistakes.append(Refusal("settings-table", place=f"{where}: {section}", example=f"[{section}]"))
        table = {}
    names = [option.name for option in options]
    for name in sorted(table.keys() - set(names)):
        mistakes.append(_no_option(f"{where}: [{section}]", name, names))
    values: dict[str, Any] = {}
    for option in options:
        variable = option.variable_in(section)
        for place, value in (
            (option.flag, given.get(option.name)),
            (variable, environ.get(variable) or None),
            (f"{where}: {section}.{option.name}", table.get(option.name)),
        ):
            if value is None:
                continue
            try:
                values[option.name] = option.read(value)
            except Wants as wants:
                mistakes.append(wants.at(place, value))
            break
    return values


def _no_option(place: str, name: str, known: Iterable[str]) -> Refusal:
    return Refusal("settings-no-option", place=place, name=name, known=", ".join(known))


def _rules(table: Any, where: str, mistakes: list[GpudiagError]) -> dict[str, dict[str, Any]]:
    if not isinstance(table, dict) or not all(isinstance(values, dict) for values in table.values()):
        mistakes.append(Refusal("settings-tables", place=f"{where}: rules", example="[rules.oom-risk]"))
        return {}
    if table:
        from gpudiag.examine import NoSuchThreshold, all_rules, check_thresholds

        known = {rule.id for rule in all_rules()}
        for rule, values in table.items():
            each = [{name: value} for name, value in values.items()] if rule in known else [{}]
            for thresholds in each:
                try:
                    check_thresholds(all_rules(), {rule: thresholds})
                except NoSuchThreshold as error:
                    mistakes.append(Refusal("settings-threshold", place=where, wrong=error))
    return table


def _nodes(table: Any, where: str, mistakes: list[GpudiagError]) -> tuple[NodeSettings, ...]:
    if not isinstance(table, dict):
        mistakes.append(Refusal("settings-tables", place=f"{where}: nodes", example='[nodes."gpu-*"]'))
        return ()
    found = []
    for pattern, values in table.items():
        place = f'{where}: nodes."{pattern}"'
        if not isinstance(values, dict):
            mistakes.append(Refusal("settings-table", place=place, example=f'[nodes."{pattern}"]'))
            continue
        for name in sorted(values.keys() - {"expected_gpus", "workloads"}):
            mistakes.append(_no_option(place, name, ("expected_gpus", "workloads")))
        gpus, workloads = values.get("expected_gpus"), values.get("workloads")
        if gpus is not None and (
            not isinstance(gpus, int) or isinstance(gpus, bool) or not 0 <= gpus <= 1024
        ):
            mistakes.append(Wants("wants-gpus").at(f"{place}.expected_gpus", gpus))
            gpus = None
        if workloads is not None and not (
            isinstance(workloads, list) and all(isinstance(entry, str) for entry in workloads)
        ):
            mistakes.append(Wants("wants-texts").at(f"{place}.workloads", workloads))
            workloads = None
        found.append(NodeSettings(pattern, gpus, tuple(workloads) if workloads is not None else None))
    return tuple(found)


def _engines(entries: Any, where: str, mistakes: list[GpudiagError]) -> tuple[EngineSettings, ...]:
    if not isinstance(entries, list):
        mistakes.append(Refusal("settings-tables", place=f"{where}: engines", example="[[engines]]"))
        return ()
    found = []
    for i, entry in enumerate(entries):
        place = f"{where}: engines[{i}]"
        if not isinstance(entry, dict):
            mistakes.append(Refusal("settings-table", place=place, example="[[engines]]"))
            continue
        for name in sorted(entry.keys() - {"engine", "address", "name"}):
            mistakes.append(_no_option(place, name, ("engine", "address", "name")))
        read: dict[str, str] = {}
        for name, reader in (("engine", text), ("address", address)):
            try:
                read[name] = reader(entry.get(name))
            except Wants as wants:
                mistakes.append(wants.at(f"{place}.{name}", entry.get(name)))
        if len(read) == 2:
            found.append(EngineSettings(**read, name=entry.get("name") or None))
    return tuple(found)
