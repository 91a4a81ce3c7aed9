"""A remark in no language yet: a key of the word tables and the numbers that go into its sentence."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    key: str
    values: dict[str, object]


def note(key: str, **values: object) -> Note:
    return Note(key, values)
