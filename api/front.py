"""In front of Flask: a report that is taken is answered here, since it comes hundreds of times a second.

Everything else goes on to Flask, and so does a report that is refused: there the reason gets its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from werkzeug.wrappers import Request

from api.bodies import WsgiApp
from api.intake import LARGEST_REQUEST
from api.parts import Parts
from api.resources.snapshots import PATH, REFUSED, take

HEADERS = [
    ("Content-Type", "application/json"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


class Front:
    """A WSGI application around Flask's."""

    def __init__(self, app: WsgiApp, here: Parts) -> None:
        self._app, self._here = app, here

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != PATH or environ.get("REQUEST_METHOD") != "POST":
            return self._app(environ, start_response)
        request = Request(environ, populate_request=False)
        request.max_content_length = LARGEST_REQUEST
        try:
            token, _ = self._here.gate.admit(request, "agent")
            answer = msgspec.json.encode(take(self._here, request, token))
        except Exception as error:
            environ[REFUSED] = error
            return self._app(environ, start_response)
        start_response("200 OK", [*HEADERS, ("Content-Length", str(len(answer)))])
        return [answer]
