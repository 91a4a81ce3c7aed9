"""Small files of /proc and /sys, read without ceremony: absent and forbidden are both None."""

from __future__ import annotations

import os


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
        while len(content) % 4096 == 0 and content:
            more = os.read(file, 1 << 20)
            if not more:
                break
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
