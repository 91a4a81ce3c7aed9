"""The overview that `gpudiag` and `gpudiag help` print."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from gpudiag.cli.plugins import find, plugin_names

ORDER = ("demo", "up", "why", "explain", "kv", "ask", "check", "rules", "serve", "agent", "bot", "token")


def overview(modules: Mapping[str, str]) -> str:
    """Every command with its one line, the ones for people first; `modules` are those of the core."""
    names = [*modules, *plugin_names()]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    width = max(len(name) for name in names)
    lines = ["gpudiag: why is this GPU full, idle, slow or gone?", "", "usage: gpudiag COMMAND [--help]", ""]
    for name in names:
        command = importlib.import_module(modules[name]) if name in modules else find(name)
        lines.append(f"  {name.ljust(width)}  {command.SUMMARY}")
    return "\n".join([*lines, "", "First look, no GPU needed: gpudiag demo"])
