"""Plain text: what chat clients do to typed text undone, what machines report made harmless."""

from __future__ import annotations

import html
import re
import unicodedata

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
    text = unicodedata.normalize("NFKC", text)
    return "".join(" " if letter.isspace() else letter for letter in text if visible(letter)).strip()


def visible(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def tokens(text: str) -> list[str]:
    """Words, quoted ones kept whole; a dash that stands alone says nothing."""
    found = re.findall(r'"([^"]*)"|`([^`]*)`|(\S+)', text)
    words = [quoted or code or bare.strip("\"'`") for quoted, code, bare in found]
    return [word for word in words if word and word not in ("-", "--")]


HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def plain(text: object) -> str:
    """Foreign text on one line: no control characters, no direction overrides, no invisible letters."""
    letters = (" " if letter.isspace() else letter for letter in str(text))
    return "".join(letter for letter in letters if unicodedata.category(letter) not in HIDDEN).strip()


def plain_line(text: str) -> str:
    return "".join(letter for letter in text if unicodedata.category(letter) not in HIDDEN)
