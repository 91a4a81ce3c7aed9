"""Granian in front of the application, inside this process: the embedded store allows one process only.

The listening socket is our own, so that a port that is taken is told as a sentence, and port 0 tells which
one it became.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import importlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from flask import Flask

from api.app import close
from api.bodies import PATIENCE_SECONDS, Bodies
from api.front import Front
from api.gateway import WsgiApp, gateway
from api.parts import KEY, parts_of
from api.words import Sentence, Worded

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

log = logging.getLogger("gpudiag.api")

BACKLOG = 4_096
# Granian's limit counts connections, idle ones too: below the number of agents it would shut people out.
MOST_CONNECTIONS = 16_384
OTHER_FILES, FEW_FILES = 256, 2_048
THREADS = 64
IDLE_SECONDS = 300.0  # a proxy lets go sooner; whoever reports less often connects anew
LOOK_SECONDS = 1.0
SWITCH_SECONDS = 0.0005  # a thread that puts a long answer in words lets the others in so often
M_ARENA_MAX = -8  # malloc.h of glibc; others ignore it or have no such function


class CannotListen(Worded):
    """The address is taken, not ours, or not allowed."""

    exit_code = 3


class Server:
    """An application at an address. `start` returns when it listens, `stop` when all is written."""

    def __init__(
        self,
        app: Flask,
        host: str = "127.0.0.1",
        port: int = 8000,
        patience: float = PATIENCE_SECONDS,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.app, self.host = app, host
        self.patience, self.idle = patience, idle
        self._socket = _listen(host, port)
        self.port = self._socket.getsockname()[1]
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    @property
    def url(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.port}"

    def start(self) -> Server:
        _few_arenas()
        _many_files()
        sys.setswitchinterval(SWITCH_SECONDS)
        app: WsgiApp = self.app.wsgi_app
        looks: list[Callable[[], None]] = []
        if KEY in self.app.extensions:
            app = front = Front(app, parts_of(self.app))
            looks.append(front.look)
        bodies = Bodies(app, self.port, patience=self.patience)
        looks.append(bodies.look)
        self._watch = threading.Thread(target=self._look, args=(looks,), name="gpudiag-watch", daemon=True)
        self._watch.start()
        self._signal = _granian().WorkerSignal()
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(gateway(bodies), ready), name="gpudiag-http"
        )
        self._thread.start()
        ready.wait()
        return self

    def _look(self, looks: list[Callable[[], None]]) -> None:
        """Once a second, at requests that wait for their senders, and at senders who wait for an answer."""
        while not self._ended.wait(LOOK_SECONDS):
            for look in looks:
                try:
                    look()
                except Exception:
                    log.exception("whoever waits for too long was not looked at")

    def _serve(self, handle: Callable[[Any, dict[str, Any]], None], ready: threading.Event) -> None:
        from granian._futures import _new_cbscheduler
        from granian.http import HTTP1Settings

        ended = threading.Event()
        self._signal.add_cb(ended.set)
        loop = asyncio.new_event_loop()
        worker = _granian().WSGIWorker(
            1,
            (None, _granian().SocketHolder(self._socket.detach(), False, BACKLOG)),  # it closes the socket
            None,
            1,
            512,
            THREADS,
            30,
            MOST_CONNECTIONS,
            "1",
            HTTP1Settings(header_read_timeout=round(self.idle * 1_000)),  # from one request to the next
            None,
            None,
            False,
            None,
            None,
            None,
            "tls1.3",
            None,
            [],
            False,
            (None, None),
        )
        scheduler = _new_cbscheduler(loop, handle, impl_asyncio=True)
        worker.serve_mtr(scheduler, loop, self._signal)
        ready.set()
        ended.wait()
        loop.close()

    def stop(self) -> None:
        """Take no more requests, then write what is waiting and close the store."""
        if self._thread is not None:
            self._signal.set()
            self._thread.join()
            self._ended.set()
            self._watch.join()
            self._thread = None
        else:
            self._socket.close()
        if KEY in self.app.extensions:
            close(self.app)

    def wait(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        with until_told() as told:
            told.wait()


def _few_arenas() -> None:
    """Have the C library keep freed memory in two places, not in one per thread: it stays small then."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def _many_files() -> None:
    """Open as many files as this user may: each connection is one, and most are given 1,024 at first."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_CONNECTIONS + OTHER_FILES if hard == resource.RLIM_INFINITY else hard
    wanted = min(MOST_CONNECTIONS + OTHER_FILES, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < FEW_FILES:
        log.warning("%s", Sentence("few.files", most=wanted, nodes=max(0, wanted - OTHER_FILES)).said("en"))


def _granian() -> Any:
    """Granian's own workers: its command would fork a second process around the one that serves."""
    return importlib.import_module("granian._granian")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror:
        raise CannotListen("listen.nowhere", host=host) from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by every connection: else the tail of a longer answer waits 40 ms for the reader's ack.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            other = port + 1 if port < 65_535 else 8000
            raise CannotListen("listen.taken", host=host, port=port, other=other) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise CannotListen("listen.forbidden", port=port) from None
        raise CannotListen("listen.other", host=host, port=port, reason=error) from None
    return listening


@contextlib.contextmanager
def until_told() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set."""
    told = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
