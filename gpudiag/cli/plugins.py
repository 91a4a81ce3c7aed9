"""Commands that `api` and `bot` bring, found through entry points only when one of them is asked for."""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points
from typing import Any

from gpudiag.cli import COMMANDS
from gpudiag.errors import GpudiagError

GROUP = "gpudiag.commands"


class NoSuchCommand(GpudiagError):
    """The first word is no command."""


def plugin_names() -> list[str]:
    return sorted(point.name for point in entry_points(group=GROUP))


def find(name: str) -> Any:
    """The command object of that name; raises NoSuchCommand with the nearest one."""
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    near = difflib.get_close_matches(name, [*COMMANDS, *plugin_names()], n=1)
    hint = f"; did you mean `gpudiag {near[0]}`?" if near else "; `gpudiag help` lists them"
    raise NoSuchCommand(f"there is no command {name!r}{hint}")
