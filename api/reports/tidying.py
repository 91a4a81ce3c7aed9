"""What no machine says: whole numbers beyond reason are refused with their place, control characters go.

A text of megabytes is cut. Almost every body holds none of these, and a look over its bytes tells so; only
the others are walked through.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gpudiag.model import LARGEST, Snapshot
from gpudiag.words.foreign import plain

LATEST = 1e11  # Unix seconds
LONGEST_TEXT = 16_384
LARGEST_USUAL = 1 << 20  # bytes of a snapshot; in a larger one a text may be too long
MOMENTS = frozenset(("at", "last_at", "taken_at", "started_at", "sent_at", "booted_at", "unloads_at"))

_ESCAPED = re.compile(rb"\\[bfnrtu]")
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_LONG = b"0" * 20


class Beyond(Exception):
    """A number that no machine says; `place` is where it stands."""

    def __init__(self, said: str, place: str = "") -> None:
        super().__init__(said)
        self.place = place

    def within(self, outer: str) -> Beyond:
        """The same, seen from one level further out."""
        inner = self.place if not self.place or self.place[0] == "[" else f".{self.place}"
        return Beyond(str(self), outer + inner)


def is_plain(body: bytes) -> bool:
    """Whether a JSON body surely holds nothing but plain text and whole numbers of a usual size."""
    if len(body) > LARGEST_USUAL:
        return False
    if not (body.isascii() and b"\x7f" not in body) and not body.decode().isprintable():
        return False
    if b"\\" in body and _ESCAPED.search(body):
        return False
    return _LONG not in body.translate(_DIGITS_ALIKE)


def tidy(snapshot: Snapshot) -> bool:
    """Replace control characters in every text of `snapshot`; whether any was there. Raises Beyond."""
    changed = False
    for name in snapshot.__struct_fields__:
        changed |= _tidy(snapshot, name, getattr(snapshot, name))
    return changed


def _tidy(holder: Any, key: Any, value: Any) -> bool:
    """One value that stands in `holder` (a record, a list or a table) under `key`."""
    if isinstance(value, str):
        return _plain_text(holder, key, value)
    try:
        if isinstance(value, bool | None):
            return False
        if isinstance(value, int | float):
            _within_reason(key, value)
            return False
        changed = False
        for inner, entry in _entries(value):
            changed |= _tidy(value, inner, entry)
        return changed
    except Beyond as error:
        outer = f"[{key}]" if isinstance(holder, list) else plain(key, 60)
        raise error.within(outer) from None


def _entries(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return ((name, getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, list):
        return enumerate(value)
    for name in [name for name in value if not name.isprintable()]:
        value[plain(name, LONGEST_TEXT)] = value.pop(name)
    return list(value.items())


def _plain_text(holder: Any, key: Any, value: str) -> bool:
    if value.isprintable() and len(value) <= LONGEST_TEXT:
        return False
    text = plain(value, LONGEST_TEXT)
    if isinstance(holder, msgspec.Struct):
        setattr(holder, key, text)
    else:
        holder[key] = text
    return text != value


def _within_reason(key: Any, value: float) -> None:
    if key in MOMENTS:
        if not 0 <= value < LATEST:
            raise Beyond("wants a moment in Unix seconds")
    elif not -LARGEST <= value <= LARGEST:
        raise Beyond("is a number that no machine has")
