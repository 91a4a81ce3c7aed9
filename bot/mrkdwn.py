"""Text for Slack, escaped and cut in one place: what a machine reports stays words, whatever it holds."""

from __future__ import annotations

import re

from bot.answer import By
from bot.text import one_line

MENTION_WORDS = re.compile(r"@(?=(?:channel|here|everyone|all)\b)", re.I)
# Slack reads * _ ~ as formatting only where a word begins or ends; a word joiner there keeps them.
FORMATTING = re.compile(r"(?<![^\s([{\"'.,:;!?*_~])([*_~])|([*_~])(?![^\s)\]}\"'.,:;!?*_~])")
USER = re.compile(r"[UW][A-Z0-9]{1,30}\Z")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def literal(text: str) -> str:
    """Text outside code spans: its * _ ~ ` and @channel mean nothing."""
    text = FORMATTING.sub(lambda sign: "\u2060" + sign[0] + "\u2060", text.replace("`", "ˋ"))
    text = re.sub(r":(?=[a-z0-9_+'-]+:)", ":\u2060", MENTION_WORDS.sub("@\u2060", text))
    return escape(text)


def prose(text: object) -> str:
    """mrkdwn of a sentence whose pairs of backticks are code spans; nothing else in it is read by Slack."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick opens nothing
        parts[-2:] = [f"{parts[-2]}ˋ{parts[-1]}"]
    spans = (code_span(part) if index % 2 else literal(part) for index, part in enumerate(parts))
    return "".join(spans)


def code_span(text: str) -> str:
    return f"`{escape(text)}`" if text.strip() else literal(text)


def sentence(text: str | By) -> str:
    """A sentence, or one that names a person: the only way to a mention."""
    if isinstance(text, By):
        who = f"<@{text.user}>" if USER.match(text.user) else prose(text.user)
        return f"{edge(text.before)}{who}{edge(text.after)}"
    return "\n".join(prose(line) for line in text.split("\n"))


def edge(text: str) -> str:
    """Prose that keeps the blanks at its ends, as it stands beside a mention."""
    return (
        f"{' ' if text[:1] == ' ' else ''}{prose(text)}{' ' if text[-1:] == ' ' else ''}"
        if text.strip()
        else text
    )


def cut(text: str, most: int) -> str:
    """At most `most` characters, never ending inside an entity or an open code span."""
    if len(text) <= most:
        return text
    text = re.sub(r"&[a-z]{0,4}\Z|<[^>]*\Z", "", text[: most - 2])
    if text.count("```") % 2:
        return text[: most - 5] + "\n```"
    line_start = text.rfind("\n") + 1
    return text + ("`…" if text[line_start:].count("`") % 2 else "…")
