"""The agent's door on its own host: a socket through which commands ask for history, or for the GPUs.

One line of JSON in, one JSON document out. History is for everybody who may log in here; letting go of the
GPUs is for root and for the agent's own user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from gpudiag.words.refusals import Refusal

NAME = "agent.sock"
LONGEST_REQUEST = 4096
VISIT_SECONDS = 5.0  # for the whole request: who says nothing keeps the others waiting


class NoAgent(Refusal):
    """No agent runs on this host."""

    key = "no-agent"


class NotAllowed(Refusal):
    """The agent does not do this for this user."""

    key = "agent-not-allowed"


class CannotAnswer(Refusal):
    """The agent on this host could not do what it was asked for."""

    key = "agent-failed"


def runtime_folder() -> Path:
    """Where the agent's socket lies: $XDG_RUNTIME_DIR/gpudiag, for root /run/gpudiag."""
    chosen = os.environ.get("XDG_RUNTIME_DIR")
    if chosen:
        return Path(chosen) / "gpudiag"
    return Path("/run/gpudiag") if os.geteuid() == 0 else Path(f"/tmp/gpudiag-{os.geteuid()}")


def state_folder() -> Path:
    """Where the agent keeps what must outlive it: $XDG_STATE_HOME/gpudiag, for root /var/lib/gpudiag."""
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen:
        return Path(chosen) / "gpudiag"
    return Path("/var/lib/gpudiag") if os.geteuid() == 0 else Path.home() / ".local" / "state" / "gpudiag"


# ------------------------------------------------------------------------------------- the agent's side


class Door:
    """Answers requests in a thread. `answers` maps what may be asked to what answers it."""

    def __init__(
        self,
        folder: Path,
        answers: dict[str, Callable[[dict[str, Any]], bytes]],
        private: frozenset[str] = frozenset(),
    ) -> None:
        self._answers, self._private = answers, private
        self._path = folder / NAME
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="local-door", daemon=True)

    def open(self) -> Refusal | None:
        """Begins to listen; the reason where that cannot be."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            if self._path.parent.stat().st_uid != os.geteuid():
                raise PermissionError(f"{self._path.parent} belongs to another user")
            if _answers_already(self._path):
                listening.close()
                return Refusal("another-agent", path=self._path)
            self._path.unlink(missing_ok=True)
            listening.bind(str(self._path))
            os.chmod(self._path, 0o666)  # who may do what is decided by who asks
            listening.listen(4)
        except OSError as error:
            listening.close()
            return Refusal("no-door", path=self._path, reason=error)
        self._socket = listening
        self._thread.start()
        return None

    def close(self) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._thread.join(2.0)
        self._socket.close()
        self._socket = None
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        assert self._socket is not None
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            with visitor, contextlib.suppress(OSError):
                visitor.sendall(self._answer(visitor))

    def _answer(self, visitor: socket.socket) -> bytes:
        try:
            request = msgspec.json.decode(_line(visitor), type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return _refusal("this is not one line of JSON")
        asked = request.get("ask")
        answer = self._answers.get(str(asked))
        if answer is None:
            return _refusal(f"cannot be asked for {asked!r}; can for: {', '.join(self._answers)}")
        if asked in self._private and _user_of(visitor) not in (0, os.geteuid()):
            return _refusal("only root and the agent's own user may do this; try sudo", forbidden=True)
        try:
            return answer(request)
        except Exception as error:  # the door stays open for the next one
            return _refusal(f"the answer failed: {type(error).__name__}: {error}"[:200])


def _refusal(why: str, *, forbidden: bool = False) -> bytes:
    return msgspec.json.encode({"error": why, "forbidden": forbidden})


def _line(visitor: socket.socket) -> bytes:
    content, until = b"", time.monotonic() + VISIT_SECONDS
    while b"\n" not in content and len(content) < LONGEST_REQUEST:
        visitor.settimeout(max(0.01, until - time.monotonic()))
        chunk = visitor.recv(LONGEST_REQUEST)
        if not chunk:
            break
        content += chunk
    visitor.settimeout(VISIT_SECONDS)
    return content


def _user_of(visitor: socket.socket) -> int:
    peer = visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", peer)[1])


def _answers_already(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


# ------------------------------------------------------------------------------------ the visitor's side


def ask(request: dict[str, Any], folder: Path | None = None, timeout: float = 10.0) -> bytes:
    """The agent's answer; raises NoAgent where none listens, NotAllowed or CannotAnswer where it refuses."""
    for path in _doors(folder):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(timeout)
            try:
                door.connect(str(path))
                door.sendall(msgspec.json.encode(request) + b"\n")
                answer = b"".join(iter(lambda: door.recv(1 << 16), b""))
            except OSError:
                continue
        return _checked(answer)
    where = folder or runtime_folder()
    raise NoAgent(folder=where)


def _checked(answer: bytes) -> bytes:
    if answer.startswith(b'{"error":'):
        try:
            refusal = msgspec.json.decode(answer, type=dict[str, Any])
        except msgspec.DecodeError:
            raise NoAgent("no-agent-of-ours") from None
        raise NotAllowed() if refusal.get("forbidden") else CannotAnswer(reason=refusal["error"])
    return answer


def _doors(folder: Path | None) -> list[Path]:
    if folder is not None:
        return [folder / NAME]
    places = [runtime_folder(), Path("/run/gpudiag"), Path(f"/tmp/gpudiag-{os.geteuid()}")]
    return [place / NAME for place in dict.fromkeys(places)]
