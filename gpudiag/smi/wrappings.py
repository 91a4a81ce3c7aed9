"""What a whole text is wrapped in: a string of JSON or a program, panes of a terminal, marks of Markdown."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_WINDOWS_PATH = re.compile(r"\b[A-Z]:\\(?!\\)[A-Z]")
_QUOTED_WHOLE = re.compile(r"\s*b?(['\"])(.*)\1[,;]?\s*", re.DOTALL)
_ESCAPED = "|+_*#<>[]-"
_PANE_BARS = frozenset("\u2502\u2503\u2551")
_OF_A_TOOL = re.compile(r"\+[-=]{5}|NVSMI LOG|# ?gpu |[a-z][._][a-z]{2,20}(?: \[[a-zA-Z%/]{1,16}\])?, [a-z]")


LONGEST_LIST = 200_000
_STRING_LINE = re.compile(r'\s{0,40}("(?:[^"\\]|\\.){0,2000}"),?\s*')
_STRING = re.compile(r'"(?:[^"\\\n]|\\.){0,200000}",?')
_OF_A_LINE = ("log", "message", "msg", "MESSAGE")
"""Keys under which a log of JSON has the line itself."""


def out_of_json(text: str) -> str:
    """The output that stands in JSON as a string or a list of lines (Ansible, a CI); else the text itself.

    Of a log that is JSON line by line its lines; of a part of a document the strings that hold an output.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return "\n".join(_texts(json.loads(text))) or text
        except (ValueError, RecursionError):
            text = "\n".join(_logged_lines(text)) or _printed_list(text) or text
    text = _without_string_lines(text)
    if text.count("\\n") < 3 or "\n" not in text.strip():
        return text
    return _STRING.sub(_output_of, text)


def _printed_list(text: str) -> str:
    """The lines of a list of strings as Python prints it; nothing where it is none."""
    if not text.lstrip().startswith(("['", '["')) or len(text) > LONGEST_LIST:
        return ""
    try:
        return "\n".join(_texts(ast.literal_eval(text.strip())))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""


def _without_string_lines(text: str) -> str:
    """Lines that are a string of JSON each, as Ansible's debug prints them, as what they say."""
    lines = text.split("\n")
    strings = [_STRING_LINE.fullmatch(line) if '"' in line else None for line in lines]
    if sum(map(bool, strings)) < max(3, 0.6 * sum(map(bool, lines))):
        return text
    return "\n".join(_said(string) if string else line for line, string in zip(lines, strings, strict=True))


def _said(string: re.Match[str]) -> str:
    try:
        return str(json.loads(string[1]))
    except ValueError:
        return string[0]


def _logged_lines(text: str) -> list[str]:
    """The lines of a log that is JSON line by line; none where it is not."""
    found = []
    for line in filter(str.strip, text.split("\n")):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return []
        told = (
            next((record[key] for key in _OF_A_LINE if key in record), None)
            if isinstance(record, dict)
            else None
        )
        if not isinstance(told, str):
            return []
        found.append(told.rstrip("\n"))
    return found


def _output_of(literal: re.Match[str]) -> str:
    """A string of JSON in other text: as the lines that it is where a tool of GPUs wrote it."""
    if literal[0].count("\\n") < 3 or not _OF_A_TOOL.search(literal[0]):
        return literal[0]
    try:
        return f"\n{json.loads(literal[0].removesuffix(','))}\n"
    except ValueError:
        return literal[0]


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
    if text.count("\\|") > 3 or "\\# gpu" in text:
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
