"""Text in the columns of a terminal, where Korean letters take two."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

WIDTH = 80  # of a terminal of which nothing else is known


@lru_cache(maxsize=4096)  # most of a fleet's columns say the same
def cells(text: str) -> int:
    """Columns that `text` takes in a terminal: Korean letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - cells(text))


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns; what is left out is marked with an ellipsis."""
    if cells(text) <= width:
        return text
    kept = ""
    for character in text:
        if cells(kept + character) > width - 1:
            break
        kept += character
    return kept.rstrip() + "…"


def wrap(text: str, width: int, hang: str = "", indent: str = "") -> list[str]:
    """Lines of at most `width` columns plus `indent`; further ones start with `hang`, long words are cut."""
    lines: list[str] = []
    line = ""
    for word in _words(text, width - cells(hang)):
        candidate = f"{line} {word}" if line else (hang + word if lines else word)
        if line and cells(candidate) > width:
            lines.append(indent + line)
            line = hang + word
        else:
            line = candidate
    return [*lines, indent + line] if line else lines


def _words(text: str, longest: int) -> Iterator[str]:
    for word in text.split(" "):
        while cells(word) > longest > 0:
            size = longest
            while cells(word[:size]) > longest:
                size -= 1
            yield word[:size]
            word = word[size:]
        yield word
