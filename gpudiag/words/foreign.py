"""Text that came from a machine: shown, never obeyed.

Process names, host names and log lines may hold terminal escapes, newlines, bidirectional marks or markup.
Every surface gets them through `plain`; HTML and Slack escape on top of it.
"""

from __future__ import annotations

import unicodedata

LONGEST = 300
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's categories of what is not seen, or turns what is: controls, directions, private letters."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def plain(text: object, longest: int = LONGEST) -> str:
    """One line without control, format or private characters, at most `longest` characters long."""
    line = " ".join(str(text).split()) if "\n" in str(text) or "\t" in str(text) else str(text)
    if not line.isascii() or not line.isprintable():
        line = "".join(_REPLACEMENT if is_hidden(c) else c for c in line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN
