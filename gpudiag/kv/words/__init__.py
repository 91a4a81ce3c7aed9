"""The answer in a person's language: sentences for notes, and the layout for a terminal.

`en.json` and `ko.json` hold a sentence per note and the labels of the layout. To add a language, copy one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from gpudiag.kv.note import Note

if TYPE_CHECKING:
    from gpudiag.kv.answer import Answer

LANGUAGES = ("en", "ko")


def sentences(notes: Iterable[Note], language: str = "en") -> list[str]:
    """One sentence per note; an unknown language falls back to English."""
    table = words(language)
    return [table[one.key].format(**one.values) for one in notes]


def words(language: str) -> dict[str, str]:
    return _table(language if language in LANGUAGES else "en")


@cache
def _table(language: str) -> dict[str, str]:
    with open(os.path.join(os.path.dirname(__file__), f"{language}.json"), encoding="utf-8") as handle:
        table: dict[str, str] = json.load(handle)
    return table


def render(answer: Answer, language: str = "en", width: int = 80) -> str:
    """The answer as text of at most `width` columns. The memory bar shows what overflows."""
    from gpudiag.kv.words.layout import layout

    return layout(answer, words(language), language, width)
