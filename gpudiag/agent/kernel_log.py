"""Reads /dev/kmsg without waiting, from where it stopped; `gpudiag.kernel_lines` knows what lines mean.

The place is kept over restarts, so that a restarted agent does not tell everything since boot again.
A storm of lines stays small: repeated ones are one event, and at one snapshot only so much is read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from gpudiag.agent.masking import printable
from gpudiag.kernel_lines import Grouping, event_of
from gpudiag.model import KernelEvent

MOST_EVENTS = 100  # of one snapshot
MOST_BYTES = 1_000_000  # read at one snapshot
LONGEST_LINE = 400


class KernelLog:
    """The kernel log from here on. `reason` tells why it cannot be read, or is None."""

    def __init__(
        self, path: str = "/dev/kmsg", bookmark: Path | None = None, boot_id: str | None = None
    ) -> None:
        self._path = path
        self._bookmark = bookmark
        self._boot_id = boot_id or "unknown"
        self._file: int | None = None
        self._rest = b""
        self._last = self._marked = -1
        self.reason: str | None = None
        self.lost = 0  # records that the ring dropped before we came, and events beyond MOST_EVENTS
        self._recall()
        self._open()

    def close(self) -> None:
        """Closes the file and keeps the place."""
        self.remember()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def events(self, booted_at: float | None) -> list[KernelEvent]:
        """What was logged since the last call, repeated lines put together, the oldest first."""
        if self._file is None:
            self._open()
        grouping = Grouping()
        for sequence, microseconds, message in self._records():
            if sequence <= self._last:
                continue
            self._last = sequence
            seconds = microseconds / 1e6
            event = event_of(message, None if booted_at is None else booted_at + seconds)
            if event is not None:
                event.clock_seconds = seconds
                event.text = printable(event.text)[:LONGEST_LINE]
                event.process = printable(event.process) if event.process else None
                grouping.add(event)
        found = grouping.drain()
        self.lost += grouping.left_out + max(0, len(found) - MOST_EVENTS)
        return found[:MOST_EVENTS]

    def remember(self) -> None:
        """Writes down how far we came."""
        if self._bookmark is None or self._last == self._marked:
            return
        try:
            self._bookmark.write_text(f"{self._boot_id} {self._last}\n")
            self._marked = self._last
        except OSError:
            pass  # at worst the events since boot are told again

    def _recall(self) -> None:
        try:
            boot_id, last = self._bookmark.read_text().split() if self._bookmark else ("", "-1")
            if boot_id == self._boot_id:
                self._last = self._marked = int(last)
        except (OSError, ValueError):
            pass

    def _open(self) -> None:
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self.reason = None
        except PermissionError:
            self.reason = "no_permission"
        except OSError:
            self.reason = "not_found"

    def _records(self) -> Iterator[tuple[int, int, str]]:
        """(sequence, microseconds since boot, message); continuation lines are left out."""
        for line in self._lines():
            head, separator, message = line.partition(b";")
            fields = head.split(b",")
            if separator and len(fields) >= 3 and fields[1].isdigit() and fields[2].isdigit():
                yield int(fields[1]), int(fields[2]), message.decode("utf-8", "replace")

    def _lines(self) -> Iterator[bytes]:
        read = 0
        while read < MOST_BYTES and self._file is not None:
            try:
                chunk = os.read(self._file, 8192)  # the device gives one record a read
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.EPIPE:  # the ring went over our place: the next read goes on after
                    self.lost += 1
                    continue
                forbidden = error.errno in (errno.EPERM, errno.EACCES)
                self.reason = "no_permission" if forbidden else "unknown_error"
                break
            if not chunk:
                break
            read += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            yield from (line for line in lines if line[:1] != b" ")
