"""How values read on a page: filters for the templates."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from gpudiag.words import units
from gpudiag.words.gpus import called
from gpudiag.words.hosts import with_hosts

_CODE = re.compile(r"`([^`]+)`")
_DASHED = re.compile(r"[^\s-]*-\S+")  # a browser may end a line after a hyphen
_BARE_LINK = re.compile(r"(?<![<(\[])(https?://[^\s<>;,)]+[^\s<>;,).])")

# Parts of a bar → the classes of `gpudiag.charts`.
PAINT = {
    "weights": "weights",
    "kv_pool": "kv-pool",
    "runtime": "runtime",
    "other_process": "other",
    "unaccounted": "unaccounted",
}


def coded(text: str | None) -> Markup:
    """Running text with its code spans; everything else in it is shown as it is, line by line."""
    escaped = str(escape(text or ""))
    return Markup(_CODE.sub(lambda span: f"<code>{unbroken(span[1])}</code>", escaped).replace("\n", "<br>"))


def unbroken(escaped: str) -> str:
    """A command whose words stay whole where a line ends: `-E` is not shown as `-` and `E` below it."""
    return _DASHED.sub(r'<span class="word">\g<0></span>', escaped)


def command(text: str) -> Markup:
    """A command as it stands in its box."""
    return Markup(unbroken(str(escape(text))))


def sentence(text: str) -> str:
    """What was refused, as a sentence of the page: errors begin small and end open, for terminals.

    A name that it begins with (`tokens: …`) stays as it is typed.
    """
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() else text
    return begun if begun.endswith((".", "?", "!", "`")) else f"{begun}."


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


def linked(text: str) -> Markup:
    """A line of our own pages, with its addresses as links. HTML in it is not obeyed."""
    return Markup(_markdown().renderInline(_BARE_LINK.sub(r"<\1>", text)))


def size(value: float | None) -> str:
    return units.UNKNOWN if value is None else units.size(value)


def reading(value: Any, name: str, language: str) -> str:
    """One reading with its unit; what is not known is a dash. Watts are whole, as nvidia-smi shows them."""
    if value is None:
        return units.UNKNOWN
    return units.show(name, round(value) if name.endswith("_watts") else value, language)


def age(seconds: float | None, language: str) -> str:
    return units.UNKNOWN if seconds is None else units.age(seconds, language)


def ago(moment: str | float | None, language: str, now: float | None = None) -> str:
    """How long ago an ISO time or Unix time was."""
    if moment is None:
        return units.UNKNOWN
    at = moment if isinstance(moment, (int, float)) else datetime.fromisoformat(moment).timestamp()
    return units.age((time.time() if now is None else now) - at, language)


def clock(moment: str | None) -> str:
    """An ISO time to the second, in UTC."""
    return units.UNKNOWN if moment is None else moment.replace("T", " ").replace("Z", " UTC")


def whole(value: float | None) -> str:
    return units.UNKNOWN if value is None else units.number(value)


def held(of: dict[str, Any]) -> str:
    """Memory held of the whole."""
    return units.held(of["memory_used_bytes"], of["memory_total_bytes"])


def share(part: float | None, total: float | None) -> str:
    return units.UNKNOWN if part is None or not total else units.percent(100 * part / total)


FILTERS: dict[str, Callable[..., Any]] = {
    "coded": coded,
    "command": command,
    "sentence": sentence,
    "linked": linked,
    "size": size,
    "reading": reading,
    "age": age,
    "ago": ago,
    "clock": clock,
    "whole": whole,
    "share": share,
    "held": held,
    "runs": units.runs,
    "called": called,
    "hosts": with_hosts,
    "paint": lambda part: PAINT.get(part, "other"),
}
