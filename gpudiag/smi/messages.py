"""Messages that a program prints as one long line, found again however they were wrapped or prefixed.

A `Log` gives each message without blanks, so that a pattern does not care where a terminal, a chat or a log
broke it. A number that was broken in two is joined only where its line fills the width; else the place is
marked, and no pattern reads across it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST_MESSAGE = 8_000
MOST_MESSAGES = 1_000
LOOKED_BACK = 300
NARROWEST = 40  # no terminal breaks lines before

_PREFIX = re.compile(  # what logs, containers and quotes put before a line
    r"(?:\s{0,20}(?:\[[^\[\]]{1,80}\]|\([^()]{0,60}(?:pid|rank)=[^()]{1,60}\)|[\w.-]{1,40}\s{0,4}[|│]|[>|│#]+|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z-]{0,16}|(?:\d\d-\d\d )?\d\d:\d\d:\d\d[.,\d]{0,10}|"
    r"(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b):?){1,8}\s{0,20}"
)
_SPLIT = re.compile(r"(?<=[0-9.])\s+(?=[0-9.])")
_RANK = re.compile(r"\[rank(\d{1,6})\]|\brank=(\d{1,6})\b")
_PID = re.compile(r"\bpid=(\d{1,10})\b")


def beginning(*texts: str) -> re.Pattern[str]:
    """A pattern for messages that begin with one of these, with any blanks, breaks and bold marks in it."""
    spread = (r"[\s*]*".join(re.escape(c) for c in text if not c.isspace()) for text in texts)
    return re.compile("|".join(spread))


@dataclass(frozen=True, slots=True)
class Message:
    """One message without its blanks, and whose it is where its line says so."""

    text: str
    rank: int | None
    pid: int | None


class Log:
    """The lines of a text, without what stands before each of them."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.text = "\n".join(map(_bare, lines))

    def messages(self, begins: re.Pattern[str]) -> Iterator[Message]:
        """Every message that begins as the pattern says, each up to where the next one begins."""
        starts = [match.start() for match in begins.finditer(self.text)][-MOST_MESSAGES:]
        number = position = 0
        for start, following in itertools.pairwise([*starts, len(self.text)]):
            number += self.text.count("\n", position, start)
            position = start
            written = self.text[start : min(following, start + LONGEST_MESSAGE)].split("\n")
            before = self._before(number, start)
            yield Message(self._compact(number, written), _first(_RANK, before), _first(_PID, before))

    def _before(self, number: int, start: int) -> str:
        """What stands in the line before its message."""
        line = self.lines[number]
        end = self.text.find("\n", start)
        begin = len(line) - ((len(self.text) if end < 0 else end) - start)
        return line[max(0, begin - LOOKED_BACK) : begin]

    def _compact(self, number: int, written: list[str]) -> str:
        """The lines of a message as one, without blanks and bold marks."""
        flat = written[0]
        widest = max(NARROWEST, len(self.lines[number]))
        for offset, part in enumerate(written[1:], 1):
            before, line = self.lines[number + offset - 1], self.lines[number + offset]
            widest = max(widest, len(line))
            fills = len(before) == widest and line.startswith(part)  # broken where the terminal ends
            flat += part if fills else f" {part}"
        return "".join(_SPLIT.sub("_", flat.replace("*", " ")).split())


def _bare(line: str) -> str:
    prefix = _PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(next(group for group in found.groups() if group is not None))
