"""What a whole text is wrapped in: a string of JSON or a program, panes of a terminal, marks of Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WINDOWS_PATH = re.compile(r"\b[A-Z]:\\(?!\\)[A-Z]")
_QUOTED_WHOLE = re.compile(r"\s*b?(['\"])(.*)\1[,;]?\s*", re.DOTALL)
_ESCAPED = "|+_*#<>[]-"
_PANE_BARS = frozenset("\u2502\u2503\u2551")
_OF_A_TOOL = re.compile(r"\+[-=]{5}|NVSMI LOG|# ?gpu |[a-z][._][a-z]{2,20}(?: \[[a-zA-Z%/]{1,16}\])?, [a-z]")


def out_of_json(text: str) -> str:
    """The output that stands in JSON as a string or a list of lines (Ansible, a CI); else the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        found = list(_texts(json.loads(text)))
    except (ValueError, RecursionError):
        return text
    return "\n".join(found) or text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "\n" in value:
            yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            if not (name.endswith("_lines") and name.removesuffix("_lines") in value):  # the same once more
                yield from _texts(part)
    elif isinstance(value, list):
        if len(value) > 2 and all(isinstance(part, str) for part in value):
            yield "\n".join(value)
        else:
            for part in value:
                yield from _texts(part)


def without_escapes(text: str) -> str:
    """Undo what makes one line of many, and the backslashes that Markdown puts before its own marks."""
    if "\\n" in text and "\n" not in text.strip() and not _WINDOWS_PATH.search(text):
        whole = _QUOTED_WHOLE.fullmatch(text)
        text = whole[2] if whole else text
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if text.count("\\|") > 3:
        for mark in _ESCAPED:
            text = text.replace(f"\\{mark}", mark)
    return text


def without_panes(text: str) -> str:
    """Panes that stand side by side in a terminal, one below the other.

    The border stands in the same column of every line that a tool of GPUs wrote.
    """
    if not any(bar in text for bar in _PANE_BARS):
        return text
    lines = text.split("\n")
    borders = [
        {column for column, c in enumerate(line) if c in _PANE_BARS}
        for line in lines
        if _OF_A_TOOL.search(line)
    ]
    columns = sorted(set.intersection(*borders)) if borders else []
    crossed = [all(line[column : column + 1] in _PANE_BARS for column in columns) for line in lines]
    if not columns or sum(crossed) * 2 < len(lines):
        return text
    ends = [*columns, None]
    panes: list[list[str]] = [[] for _ in ends]
    for line, is_crossed in zip(lines, crossed, strict=True):
        if not is_crossed:
            panes[0].append(line)
            continue
        start = 0
        for pane, end in zip(panes, ends, strict=True):
            pane.append(line[start:end].rstrip())
            start = (end or 0) + 1
    return "\n\n".join("\n".join(pane) for pane in panes if any(pane))
