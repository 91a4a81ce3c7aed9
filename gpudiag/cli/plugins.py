"""Commands that `api` and `bot` bring, found through entry points only when one of them is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any

from gpudiag.words.refusals import Refusal

GROUP = "gpudiag.commands"


class NoSuchCommand(Refusal):
    """The first word is no command."""

    key = "no-such-command"


def plugin_names() -> list[str]:
    return sorted(point.name for point in entry_points(group=GROUP))


def find(name: str, others: Iterable[str] = ()) -> Any:
    """The command object of that name; raises NoSuchCommand with the nearest one, `others` among them.

    What is no command and a question of `ask`, as in a chat, is told so.
    """
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    for point in entry_points(group=GROUP, name="ask"):
        if name in point.load().questions():
            raise NoSuchCommand("no-such-command-ask", name=name)
    near = difflib.get_close_matches(name, [*others, *plugin_names()], n=1)
    if near:
        raise NoSuchCommand("no-such-command-near", name=name, near=near[0])
    raise NoSuchCommand(name=name)
