"""Plain text: what chat clients do to typed text undone, what machines report made harmless."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable

from gpudiag.words.foreign import is_hidden

LINK = re.compile(r"<((?:https?|mailto|tel|ssh):[^|>\s]*)(?:\|([^>]*))?>", re.I)
MENTION = re.compile(r"<[@!][^>]*>")
CHANNEL = re.compile(r"<#([A-Z0-9]+)(?:\|([^>]*))?>")
JOINING = re.compile(r"(?<=\w)[—―](?=\w)")  # a hyphen of a name that a phone made longer
TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»＂″", '"'),
        **dict.fromkeys("‘’‚‛′＇", "'"),
        **dict.fromkeys("‐‑‒–−﹣－", "-"),
        **dict.fromkeys("—―", "--"),
        "×": "x",
        "…": "...",
    }
)
LONGEST = 2000


def clean(text: str) -> str:
    """The plain sentence a person meant; at most 2,000 characters of it."""
    text = MENTION.sub(" ", text[:LONGEST])
    text = LINK.sub(lambda link: link[2] or re.sub(r"^\w+:(//)?|/$", "", link[1]), text)
    text = CHANNEL.sub(lambda channel: f"#{channel[2] or channel[1]}", text)
    text = JOINING.sub("-", html.unescape(text)).translate(TYPOGRAPHY)
    return one_line(unicodedata.normalize("NFKC", text))


def tokens(text: str) -> list[str]:
    """Words, quoted ones kept whole; a dash that stands alone says nothing."""
    found = re.findall(r'"([^"]*)"|`([^`]*)`|(\S+)', text)
    words = [quoted or code or bare.strip("\"'`") for quoted, code, bare in found]
    return [word for word in words if word and word not in ("-", "--")]


def one_line(text: object) -> str:
    """Foreign text on one line, without what is not seen (`words.foreign.plain` shows that it was there)."""
    return without_hidden(" " if letter.isspace() else letter for letter in str(text)).strip()


def without_hidden(letters: Iterable[str]) -> str:
    """Foreign text without what is not seen; of a line, the indent stays."""
    return "".join(letter for letter in letters if not is_hidden(letter))
