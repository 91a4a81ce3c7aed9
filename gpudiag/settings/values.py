"""The kinds of value that settings know: each function reads one, from a file, a variable or an option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gpudiag.words import LANGUAGES
from gpudiag.words.refusals import Refusal

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", re.IGNORECASE)


class Wants(ValueError):
    """A value is of another kind; its only argument names the sentence that says which one is wanted."""

    def at(self, place: str, value: Any) -> Refusal:
        """What is said of the value that stands at a place."""
        return Refusal(self.args[0], place=place, got=value)


def seconds(value: Any) -> float:
    """A span such as `30`, `10s`, `5m`, `2h` or `7d`, in seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        found = float(value)
    else:
        match = _SPAN.fullmatch(str(value).strip())
        if match is None:
            raise Wants("wants-span")
        found = float(match[1]) * _UNITS[match[2].lower() or "s"]
    if not 0 < found < 1e10:
        raise Wants("wants-span")
    return found


def keeping(value: Any) -> float:
    """How long something is kept: a span of an hour or more, for a bare number would mean seconds."""
    return _within(value, 3_600.0, 1e10, "wants-keeping")


def interval(value: Any) -> float:
    """The time between two snapshots: what the API takes."""
    return _within(value, 0.1, 3_600.0, "wants-interval")


def _within(value: Any, least: float, most: float, wanted: str) -> float:
    found = seconds(value)
    if not least <= found <= most:
        raise Wants(wanted)
    return found


def port(value: Any) -> int:
    """A port, or 0 for a free one."""
    number = _whole(value)
    if not 0 <= number <= 65_535:
        raise Wants("wants-port")
    return number


def count(value: Any) -> int:
    """A whole number of 0 or more."""
    number = _whole(value)
    if number < 0:
        raise Wants("wants-count")
    return number


def _whole(value: Any) -> int:
    """The whole number; -1 where it is none."""
    try:
        return -1 if isinstance(value, (bool, float)) else int(value)
    except (TypeError, ValueError):
        return -1


def address(value: Any) -> str:
    """An address of a server, without a slash at its end."""
    text = str(value)
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise Wants("wants-address")
    return text.rstrip("/")


def store_url(value: Any) -> str:
    """Where a server remembers."""
    text = str(value)
    if not text.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        raise Wants("wants-store")
    return text


def language(value: Any) -> str:
    """A language that has words."""
    if value not in LANGUAGES:
        raise Wants("wants-language")
    return str(value)


def text(value: Any) -> str:
    """A text that says something."""
    if not isinstance(value, (str, int)) or isinstance(value, bool) or not str(value).strip():
        raise Wants("wants-text")
    return str(value)


def path(value: Any) -> str:
    """A file or folder; `~` is the user's home."""
    return str(Path(text(value)).expanduser())
