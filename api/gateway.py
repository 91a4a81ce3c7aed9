"""Between granian and WSGI: an application may answer a request later, and from another thread.

It finds `ANSWER` in the environment, keeps it, returns `LATER`, and calls it once it knows the answer. So a
request that waits for something holds no thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Headers = list[tuple[str, str]]

ANSWER = "gpudiag.answer"
LATER: Iterable[bytes] = iter(())  # the only one of its kind, as () would not be

_ENVIRON: dict[str, Any] = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "granian",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": False,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


class Answer:
    """The one answer to a request: what is said after the first call is not sent."""

    __slots__ = ("_protocol",)

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol

    def __call__(self, status: str, headers: Headers, body: bytes) -> None:
        self._protocol.response_bytes(int(status[:3]), headers, body)


class Started:
    """What an application says before its body; it is WSGI's `start_response`."""

    __slots__ = ("headers", "status")

    def __init__(self) -> None:
        self.status, self.headers = "200 OK", Headers()

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> None:
        self.status, self.headers = status, headers


class _Parts:
    """A body in parts, as granian asks for them."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts, self._next = parts, iter(parts)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._next)

    def close(self) -> None:
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()


def gateway(app: WsgiApp) -> Callable[[Any, dict[str, Any]], None]:
    """What granian calls with its protocol and each request."""

    def handle(protocol: Any, scope: dict[str, Any]) -> None:
        started = Started()
        body = app({**_ENVIRON, **scope, ANSWER: Answer(protocol)}, started)
        if body is LATER:
            return
        if isinstance(body, list):
            protocol.response_bytes(int(started.status[:3]), started.headers, b"".join(body))
        else:
            protocol.response_iter(int(started.status[:3]), started.headers, _Parts(body))

    return handle


def whole(app: WsgiApp, environ: dict[str, Any]) -> tuple[str, Headers, bytes]:
    """An application's whole answer to a request: status, headers, body."""
    started = Started()
    parts = _Parts(app(environ, started))
    try:
        body = b"".join(parts)
    finally:
        parts.close()
    return started.status, started.headers, body
