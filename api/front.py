"""In front of Flask: a report that is taken is answered here, since it comes hundreds of times a second.

It is handed in, and answered by whoever stored it: no thread waits meanwhile. Everything else goes on to
Flask, and so does a report that is refused: there the reason gets its words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
from werkzeug.wrappers import Request

from api.access import Environ
from api.gateway import ANSWER, LATER, Answer, WsgiApp, whole
from api.parts import Parts
from api.reports.intake import LARGEST_REQUEST
from api.reports.report import Report
from api.reports.writer import ANSWER_SECONDS, NotWritten
from api.resources.snapshots import PATH, REFUSED, received

HEADERS = [
    ("Content-Type", "application/json"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


class Front:
    """A WSGI application around Flask's. Call `look` now and then: it answers whose report takes too long."""

    def __init__(self, app: WsgiApp, here: Parts, patience: float = ANSWER_SECONDS) -> None:
        self._app, self._here, self._patience = app, here, patience
        self._waiting: dict[Report, tuple[float, Callable[[BaseException], None]]] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != PATH or environ.get("REQUEST_METHOD") != "POST":
            return self._app(environ, start_response)
        try:
            token, _ = self._here.gate.admit(environ, "agent")
            self._hand_in(received(self._here, environ, _body(environ), token), environ)
        except Exception as error:
            environ[REFUSED] = error
            return self._app(environ, start_response)
        return LATER

    def _hand_in(self, report: Report, environ: dict[str, Any]) -> None:
        answer: Answer = environ[ANSWER]
        refuse = partial(self._refuse, environ, answer)
        report.told = partial(self._answer, answer)
        self._waiting[report] = (time.monotonic(), refuse)
        try:
            self._here.writer.hand_in(report)
        except BaseException:
            del self._waiting[report]
            raise

    def _answer(self, answer: Answer, report: Report) -> None:
        _, refuse = self._waiting.pop(report, (0.0, None))
        error, report.error = report.error, None  # its traceback holds the report: each would keep the other
        if refuse is None:
            return  # it took too long, and that was said
        if error is not None:
            refuse(error)
            return
        body = msgspec.json.encode(report.answer())
        answer("200 OK", [*HEADERS, ("Content-Length", str(len(body)))], body)

    def _refuse(self, environ: dict[str, Any], answer: Answer, error: BaseException) -> None:
        environ[REFUSED] = error
        answer(*whole(self._app, environ))
        error.__traceback__ = None  # it holds this call, which holds the error

    def look(self) -> None:
        """Refuse what has waited for too long: it may be stored, or not."""
        late = time.monotonic() - self._patience
        for report, (since, refuse) in list(self._waiting.items()):
            if since < late and self._waiting.pop(report, None) is not None:
                refuse(NotWritten("slow"))


def _body(environ: Environ) -> bytes:
    """The body of a request."""
    told = environ.get("CONTENT_LENGTH", "")
    if told.isdigit() and int(told) <= LARGEST_REQUEST:
        body: bytes = environ["wsgi.input"].read()
        return body
    request = Request(environ, populate_request=False)
    request.max_content_length = LARGEST_REQUEST
    return request.get_data(cache=False)
