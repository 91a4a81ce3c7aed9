"""Snapshots that could not be sent yet, on disk: bounded, in order, and whole after a crash.

One compressed file per snapshot, written aside, forced to disk and moved into place; its name holds the
order. When the bound is reached, or the disk is full, the oldest go, and the loss is counted.

One that never gets through can be set aside, as a recording that `gpudiag replay` reads or sends.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import zlib
from collections import deque
from pathlib import Path

from gpudiag.words.refusals import Refusal

LARGEST_BYTES = 64 << 20
ASIDE = "set-aside"
ASIDE_SHARE = 8  # what is set aside takes an eighth of what may wait
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
BLOCK = 4_096  # what a small file takes of a disk
MAKE_ROOM = 4  # times the room of a snapshot is freed for it; then whoever fills the disk takes it at once
_SUFFIX = ".snapshot"
_NAME = re.compile(rf"[0-9]{{1,17}}{re.escape(_SUFFIX)}")


class Spool:
    """A folder of waiting snapshots. `lost` counts those dropped or set aside since it was opened."""

    def __init__(self, folder: Path, largest_bytes: int = LARGEST_BYTES) -> None:
        self._folder = folder
        self._largest = largest_bytes
        self._waiting: deque[tuple[str, int]] = deque()  # name and size, oldest first
        self._other = 0  # the place of the last one that was tried before its turn
        self._size = 0
        self._next = 0
        self._adding = threading.Lock()  # an agent that stops puts away what its sender still holds
        self.lost = 0
        self.problem: Refusal | None = None  # why nothing can be kept
        self._open()

    def _open(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            names = sorted(os.listdir(self._folder))
        except OSError as error:
            self.problem = _unusable(self._folder, error)
            return
        for name in names:
            path = self._folder / name
            if not _NAME.fullmatch(name):
                if name.endswith(".part"):
                    self._remove(path)  # a write that a crash cut off
                continue
            try:
                size = path.stat().st_size
            except OSError:
                continue  # a link to nowhere
            self._waiting.append((name, size))
            self._size += size
            self._next = int(name[: -len(_SUFFIX)]) + 1

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, snapshot: bytes) -> bool:
        """Keeps one behind all others; False where the disk does not take it, and then it is lost.

        On a full disk it takes the place of the oldest, and `problem` tells that.
        """
        with self._adding:
            return self._add(zlib.compress(snapshot, 1))

    def _add(self, content: bytes) -> bool:
        name = f"{self._next:016d}{_SUFFIX}"
        try:
            made_room = self._write_making_room(name, content)
        except OSError as error:
            self.problem = _unusable(self._folder, error)
            self.lost += 1
            return False
        self.problem = Refusal("spool-no-room", folder=self._folder) if made_room else None
        self._next += 1
        self._waiting.append((name, len(content)))
        self._size += len(content)
        while self._size > self._largest and len(self._waiting) > 1:
            self._drop()
            self.lost += 1
        return True

    def _write_making_room(self, name: str, content: bytes) -> bool:
        """Writes a file; whether old ones, some at most, had to go for it, since the disk is full."""
        freed = 0
        while True:
            try:
                self._write(name, content)
            except OSError as error:
                enough = freed >= MAKE_ROOM * max(BLOCK, len(content))
                if error.errno not in NO_ROOM or enough or not self._waiting:
                    raise
            else:
                return freed > 0
            freed += max(BLOCK, self._waiting[0][1])
            self._drop()
            self.lost += 1

    def _write(self, name: str, content: bytes) -> None:
        """Writes a file aside, forces it to disk, moves it into place; where that fails nothing is left."""
        aside = self._folder / f"{name}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # somebody may have cleaned up
            with open(aside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._folder / name)
            self._sync_folder()
        except OSError:
            self._remove(aside)
            raise

    def oldest(self) -> bytes | None:
        """The snapshot that is to be sent next; a file that a crash has spoilt is passed over as lost.

        None also where it cannot be read just now (`problem` tells why): it is not given up for that.
        """
        while self._waiting:
            try:
                content = zlib.decompress((self._folder / self._waiting[0][0]).read_bytes())
            except (FileNotFoundError, IsADirectoryError, zlib.error):
                self.lost += 1
                self._drop()
            except OSError as error:
                self.problem = _unusable(self._folder, error)
                return None
            else:
                self.problem = None
                return content
        return None

    def another(self) -> tuple[int, bytes] | None:
        """One behind the oldest, each time the next of them: its place and its content."""
        if len(self._waiting) < 2:
            return None
        place = self._other = self._other % (len(self._waiting) - 1) + 1
        try:
            return place, zlib.decompress((self._folder / self._waiting[place][0]).read_bytes())
        except (OSError, zlib.error):
            return None

    def done(self, place: int = 0) -> None:
        """The oldest, or the one at a place, has arrived."""
        if self._waiting:
            self._drop(place)

    def set_aside(self) -> Path | None:
        """Gives the oldest up, and keeps it as a recording; the file, or None where it cannot be written."""
        snapshot = self.oldest()
        if snapshot is None:
            return None
        self.lost += 1
        folder = self._folder / ASIDE
        file = folder / f"{self._waiting[0][0].removesuffix(_SUFFIX)}.jsonl"
        self._drop()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            file.write_bytes(snapshot + b"\n")
            self._bound(folder)
        except OSError as error:
            self.problem = _unusable(folder, error)
            return None
        return file

    def _bound(self, folder: Path) -> None:
        """Drop the oldest of what was set aside while it is more than its share; the newest stays."""
        files = sorted(folder.glob("*.jsonl"))
        sizes = [file.stat().st_size for file in files]
        while len(files) > 1 and sum(sizes) > self._largest // ASIDE_SHARE:
            self._remove(files.pop(0))
            sizes.pop(0)

    def _drop(self, place: int = 0) -> None:
        name, size = self._waiting[place]
        del self._waiting[place]
        self._size -= size
        self._remove(self._folder / name)

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self.problem = _unusable(self._folder, error)

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unusable(folder: Path, error: OSError) -> Refusal:
    return Refusal("spool-unusable", folder=folder, reason=error)
