"""A scenario: a short story, the verdict it must get, and what must not be said of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpudiag.model import Severity

ALARMS = ("warning", "critical")


@dataclass(frozen=True, slots=True)
class Scenario:
    """`expects` and `severity` are the node's verdict at the end.

    `also`: alarms that may be given beside it. Any other alarm, at any moment, is a false one.
    `never`: rules that must not stand at the end, however mild. `finds`: rules that must.
    """

    name: str
    story: str
    group: str
    expects: str
    severity: Severity
    play: Callable[..., Any]
    also: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    says: tuple[str, ...] = ()  # words that the answer must hold
    hides: tuple[str, ...] = ()  # words that must not leave the host
    host: dict[str, Any] = field(default_factory=dict)
    over_http: bool = False  # the story is of a fleet, not of one host
    config: str | None = None  # the server's, as TOML


@dataclass(slots=True)
class Outcome:
    """What the scenario got."""

    scenario: str
    rule: str = "-"
    severity: str = "-"
    findings: list[str] = field(default_factory=list)  # rule/severity/confidence@gpu, at the end
    alarms: dict[str, str] = field(default_factory=dict)  # rule → when first, and how
    unjudged: list[str] = field(default_factory=list)
    text: str = ""
    sent: list[bytes] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        return not self.complaints


_SCENARIOS: dict[str, Scenario] = {}


def scenario(
    expects: str, severity: Severity, story: str, *, name: str | None = None, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a story; `more` as in Scenario."""

    def declare(play: Callable[..., Any]) -> Callable[..., Any]:
        called = (name or play.__name__).replace("_", "-").replace(" ", "-")
        if called in _SCENARIOS:
            raise ValueError(f"two scenarios are called {called}")
        group = play.__module__.rsplit(".", 1)[-1]
        _SCENARIOS[called] = Scenario(called, story, group, expects, severity, play, **more)
        return play

    return declare


@cache
def all_scenarios() -> tuple[Scenario, ...]:
    """Every scenario below stories/, in the order of the files."""
    package = importlib.import_module("tests.scenarios.stories")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return tuple(_SCENARIOS.values())
