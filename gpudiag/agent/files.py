"""Small files of /proc and /sys, read without ceremony: absent and forbidden are both None."""

from __future__ import annotations

import os

TICKS = os.sysconf("SC_CLK_TCK")


def text(path: str) -> str | None:
    """The content without the last newline; bytes that are no UTF-8 are replaced."""
    content = raw(path)
    return None if content is None else content.decode("utf-8", "replace").rstrip("\n")


def raw(path: str) -> bytes | None:
    """The content as it is."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, 65536)
        while more := os.read(file, 65536):  # /proc gives a page at a time of what it makes line by line
            content += more
        return content
    except OSError:
        return None
    finally:
        os.close(file)


def number(path: str) -> int | None:
    """The content as a whole number."""
    content = raw(path)
    try:
        return None if content is None else int(content)
    except ValueError:
        return None


class Stat:
    """The fields of /proc/PID/stat that we use."""

    __slots__ = ("cpu", "last_cpu", "name", "parent", "start", "state", "threads")

    def __init__(self, content: str) -> None:
        opening, closing = content.index("("), content.rindex(")")  # a name may hold both
        self.name = content[opening + 1 : closing]
        rest = content[closing + 2 :].split()
        self.state = rest[0]
        self.parent = int(rest[1])
        self.cpu = int(rest[11]) + int(rest[12])
        self.threads = int(rest[17])
        self.start = int(rest[19])
        self.last_cpu = int(rest[36]) if len(rest) > 36 else None


def stat_of(path: str) -> Stat | None:
    content = text(path)
    try:
        return None if content is None else Stat(content)
    except (ValueError, IndexError):
        return None


def numbers(folder: str) -> list[int]:
    """The names in a folder that are numbers: pids, threads."""
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []
