"""The calculator's words: a table per language with a sentence per note and the labels of its layouts.

Knows notes and nothing else of the calculator. To add a language, copy `en.json` and name it in `LANGUAGES`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cache

from gpudiag.kv.note import Note

LANGUAGES = ("en", "ko")


def sentences(notes: Iterable[Note], language: str = "en") -> list[str]:
    """One sentence per note; an unknown language falls back to English."""
    return [sentence(one, language) for one in notes]


def sentence(note: Note, language: str = "en") -> str:
    """The sentence of one note; a value that is a note itself is put in words first."""
    values = {
        name: sentence(value, language) if isinstance(value, Note) else value
        for name, value in note.values.items()
    }
    return words(language)[note.key].format(**values)


def words(language: str) -> dict[str, str]:
    """The table of a language, English where it is unknown."""
    return _table(language if language in LANGUAGES else "en")


@cache
def _table(language: str) -> dict[str, str]:
    with open(os.path.join(os.path.dirname(__file__), f"{language}.json"), encoding="utf-8") as handle:
        table: dict[str, str] = json.load(handle)
    return table
