"""The pasted output inside a chat message: its code blocks, its text, or its attached file."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

FENCE = re.compile(r"```(?:\w+\n)?\n?(.*?)\n?```", re.S)
# No "<" inside a link: each is looked at once, however many are opened and never closed.
LINK = re.compile(r"<(?:https?|mailto):[^|<>]*\|([^<>]*)>|<((?:https?|mailto):[^<>]*)>")


def from_message(said: dict[str, Any], download: Callable[[str], bytes]) -> str:
    """What to read: an attached text file first, then fenced blocks, then the whole text."""
    for file in said.get("files") or []:
        url = file.get("url_private_download") or file.get("url_private")
        if url and str(file.get("mimetype", "text/plain")).startswith(("text/", "application/")):
            return download(str(url)).decode("utf-8", errors="replace")
    return from_text(str(said.get("text") or ""))


def from_text(text: str) -> str:
    text = LINK.sub(lambda link: link[1] or link[2], text)
    blocks = FENCE.findall(text)
    return html.unescape("\n".join(blocks) if blocks else text).strip("\n")
