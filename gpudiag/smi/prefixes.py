"""What quotes, logs and containers put before every line, taken away."""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import re

LONGEST_LINE = 20_000
LOOKED_AT = 400  # lines that are searched for the beginning of a tool's output

_QUOTED = re.compile(r"^\s{0,3}(?:>\s?)+")
_MARK = re.compile(r"^[|*+-] ?")
_MARKED = re.compile(r"[|*+-] ?(?:\+-{5}|=+NVSMI|# ?gpu |[a-z_.]{4,40}(?: \[[a-zA-Z%/]{1,16}\])?, [a-z])")
_COMMENTED = re.compile(r"^# ?")
_LOGGED = re.compile(
    r"^(?:[\w.-]{1,40} +\| ?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)? (?:\S{1,60}: ?)?)"
)


def without_quotes(lines: list[str]) -> list[str]:
    """Take away marks that stand before nearly every line: quotes, comments, a container's name, a time."""
    written = [line for line in lines if line and not line.isspace()]
    quoted = sum(line.lstrip().startswith(">") for line in written)
    if quoted >= 2 and quoted * 2 >= len(written):
        return [_QUOTED.sub("", line) for line in lines]
    for mark in ("**", "`"):
        if len(written) >= 3 and all(_is_marked(line.strip(), mark) for line in written):
            return [line.strip()[len(mark) : -len(mark)] if line.strip() else line for line in lines]
    if len(written) >= 3 and len({line[0] for line in written}) == 1 and any(map(_MARKED.match, written)):
        boxed = all(line[0] == "|" and line.rstrip().endswith("|") for line in written)
        return [_MARK.sub("", line.rstrip()[:-1].rstrip() if boxed and line else line) for line in lines]
    if len(written) >= 3 and all(line[0] == "#" for line in written):
        return [_COMMENTED.sub("", line) for line in lines]
    if len(written) >= 2 and not any("NVRM" in line for line in written[:50]):
        logged = _LOGGED.match(written[0])
        if logged is not None and all(_LOGGED.match(line) for line in written):
            return [_LOGGED.sub("", line) for line in lines]
    return lines


def _is_marked(line: str, mark: str) -> bool:
    return len(line) >= 2 * len(mark) and line.startswith(mark) and line.endswith(mark)


def without_continuation_marks(lines: list[str]) -> list[str]:
    """Take away the backslash that some copies put at the end of nearly every line."""
    marked = sum(line.endswith(" \\") for line in lines)
    if marked < 3 or marked * 2 < sum(bool(line.strip()) for line in lines):
        return lines
    return [line[:-2] if line.endswith(" \\") else line for line in lines]


_ANCHORS = re.compile(
    r"==============NVSMI LOG|<\?xml|<nvidia_smi_log|<!DOCTYPE nvidia_smi_log|\+-----|# gpu |#Date |"
    r"\S{0,60}nvidia-smi --?[a-z]|\b(?:timestamp|index|name|uuid|count|gpu_name|gpu_uuid|gpu_bus_id|pid|pci\.bus_id|driver_version|pstate|"
    r"utilization\.gpu|memory\.(?:used|total)|power\.draw|temperature\.gpu)(?: \[[a-zA-Z%/]{1,16}\])?, [a-z]"
)
_DIGITS = re.compile(r"[0-9]")
_MARKS = frozenset("'\"`|#*->$ ")


def without_log_prefix(lines: list[str]) -> list[str]:
    """Take away what a log put before every line: what stands before a known first line, digits aside."""
    bare = 0
    for line in lines[:LOOKED_AT]:
        anchor = _ANCHORS.search(line) if len(line) < LONGEST_LINE else None
        if anchor is None:
            continue
        prefix = line[: anchor.start()]
        if len(prefix) < 4 or set(prefix) <= _MARKS:
            bare += 1
            if bare == 3:
                break  # this text has none
            continue
        shape, width = _DIGITS.sub("0", prefix), len(prefix)
        fits = [_DIGITS.sub("0", other[:width]) == shape for other in lines]
        all_of_them = all(fit or not other or other.isspace() for fit, other in zip(fits, lines, strict=True))
        if sum(fits) >= (2 if shape != prefix or all_of_them else 3):
            return [other[width:] if fit else other for other, fit in zip(lines, fits, strict=True)]
    return lines
