"""Bodies that never end: a sender that stops in the middle holds no thread for long, and never all of them.

The server hands every request to a thread at once, and reading a body waits for its sender. So only some of
the threads may be waiting like that at a time; the others answer meanwhile. A sender that has said nothing
for a while is cut off.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from werkzeug.exceptions import RequestEntityTooLarge

from api.gateway import WsgiApp
from api.problems import Refused
from api.reports.intake import LARGEST_REQUEST

log = logging.getLogger("gpudiag.api")

MOST_READING = 40  # of the server's 64 threads
PATIENCE_SECONDS = 15.0
LAST_DATA_RECEIVED = 52  # where tcp_info of linux/tcp.h has it, in milliseconds


class Crowded(Refused):
    """Too many bodies are being read just now; come back in a few seconds."""

    status = 503
    retry_after = 5


class CutOff(Refused):
    """The body ends before its end."""

    status = 400


class Bodies:
    """A WSGI application around another one, whose bodies it watches. Call `look` about once a second."""

    def __init__(self, app: WsgiApp, port: int, patience: float = PATIENCE_SECONDS) -> None:
        self._app, self._port, self._patience = app, port, patience
        self._slots = threading.BoundedSemaphore(MOST_READING)
        self._reading: dict[Body, tuple[float, str]] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("CONTENT_LENGTH", "0") == "0" and "HTTP_TRANSFER_ENCODING" not in environ:
            return self._app(environ, start_response)
        body = environ["wsgi.input"] = Body(environ, self)
        try:
            return self._app(environ, start_response)
        finally:
            body.done()

    def begin(self, body: Body, sender: str) -> None:
        if not self._slots.acquire(blocking=False):
            raise Crowded("crowded", most=MOST_READING, seconds=Crowded.retry_after)
        self._reading[body] = (time.monotonic(), sender)

    def end(self, body: Body) -> None:
        if self._reading.pop(body, None) is not None:
            self._slots.release()

    def look(self) -> None:
        """Cut off who has said nothing for too long."""
        late = time.monotonic() - self._patience
        senders = {
            sender.removeprefix("::ffff:") for began, sender in list(self._reading.values()) if began < late
        }
        cut = cut_off(self._port, senders, self._patience) if senders else 0
        if cut:
            log.warning("%d connections were cut off: their requests never ended", cut)


class Body:
    """What a request's body is read from."""

    def __init__(self, environ: dict[str, Any], bodies: Bodies) -> None:
        self._from, self._bodies = environ["wsgi.input"], bodies
        self._sender = environ.get("REMOTE_ADDR", "")
        told = environ.get("CONTENT_LENGTH", "")
        self._left = int(told) if told.isdigit() else None
        self._came = 0
        self._begun = self._ended = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes; raises Crowded before the first and CutOff where the last are missing."""
        if self._ended:
            return b""
        if not self._begun:
            self._bodies.begin(self, self._sender)
            self._begun = True
        part: bytes = self._from.read() if size is None or size < 0 else self._from.read(size)
        self._came += len(part)
        if self._left is not None:
            self._left -= len(part)
        elif part and self._came == LARGEST_REQUEST and self._from.read(1):
            raise RequestEntityTooLarge  # in chunks, whose reader would take the beginning for the whole
        if not part or size is None or size < 0 or self._left == 0:
            self.done()
            if self._left:
                raise CutOff("body.cut")
        return part

    def readline(self, size: int = -1) -> bytes:
        """Never a line alone: nothing here is read by lines."""
        return self.read(size)

    def done(self) -> None:
        self._ended = True
        self._bodies.end(self)


def cut_off(port: int, senders: set[str], silent_seconds: float) -> int:
    """Read no more from connections to `port` of `senders` that brought nothing for so long; how many."""
    cut = 0
    for path in Path("/proc/self/fd").glob("*"):  # elsewhere than on Linux there is none
        with contextlib.suppress(OSError):
            if not os.readlink(path).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(path.name))) as known:
                if _is_of(known, port, senders) and _silent(known) > silent_seconds:
                    known.shutdown(socket.SHUT_RD)
                    cut += 1
    return cut


def _is_of(known: socket.socket, port: int, senders: set[str]) -> bool:
    if known.family not in (socket.AF_INET, socket.AF_INET6) or known.type != socket.SOCK_STREAM:
        return False
    return known.getsockname()[1] == port and known.getpeername()[0].removeprefix("::ffff:") in senders


def _silent(known: socket.socket) -> float:
    """Seconds since data came in."""
    info = known.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_DATA_RECEIVED + 4)
    return float(struct.unpack_from("I", info, LAST_DATA_RECEIVED)[0]) / 1000
