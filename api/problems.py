"""Errors as `application/problem+json` (RFC 9457): what happened, where, and what to do."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException

from api.words import Sentence, Worded
from gpudiag.client.failures import SERVICE
from gpudiag.errors import GpudiagError
from gpudiag.words import Language, language_in, language_of
from gpudiag.words.foreign import plain

log = logging.getLogger("gpudiag.api")

MOST_READ_ON = 64 << 20

CONTENT_TYPE = "application/problem+json"

ADVISED = (404, 405, 413, 415)
"""Statuses of the framework for which we have a sentence of our own."""


class Refused(Worded):
    """What the API refuses to whoever asks.

    `nearest` are names like the one that was asked for, each of which could be asked for instead.
    """

    def __init__(self, key: str, /, nearest: Sequence[str] = (), **values: object) -> None:
        super().__init__(key, **values)
        self.nearest = list(nearest)


class BadRequest(Refused):
    """The question cannot be read."""

    status = 400


class Unprocessable(Refused):
    """The question is read, and asks for what cannot be."""

    status = 422


class NoSuch(Refused):
    """There is no such node, finding or rule."""

    status = 404


ErrorPage = Callable[[Sentence, int], Response]
"""What went wrong and its status → a page of ours that says so."""


def wants_page() -> bool:
    """Whether a browser asks, and for no answer of the API: it names HTML, and likes it better than JSON."""
    if request.endpoint is not None and not request.endpoint.startswith("web."):
        return False
    accepted = request.accept_mimetypes
    named = any(kind == "text/html" for kind, _ in accepted)
    return named and accepted["text/html"] >= max(accepted["application/json"], accepted[CONTENT_TYPE])


def spoken() -> Language:
    """The language of an error: as that of an answer, but one without words is no error once more."""
    header = request.headers.get("Accept-Language")
    otherwise = header or current_app.extensions["gpudiag"].settings.serve.lang
    return language_in(request.args.get("lang")) or language_of(otherwise)


def problem(status: int, detail: str, **more: Any) -> Response:
    """A response; `more` are further members, left out where they say nothing."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Error",
        "status": status,
        "detail": detail,
        "instance": request.path,
        "service": SERVICE,
        **{name: value for name, value in more.items() if value not in (None, [])},
    }
    text = msgspec.json.encode(body) + b"\n"  # whoever asks by curl finds the prompt on a line of its own
    response = Response(text, status, content_type=CONTENT_TYPE)
    response.headers["Vary"] = "Accept-Language"
    return response


def answer(error: GpudiagError) -> Response:
    """One of our errors as a response."""
    status = error.status if 400 <= error.status < 600 else 400
    response = problem(status, error.said(spoken()), nearest=getattr(error, "nearest", None))
    retry_after = getattr(error, "retry_after", 5 if status == 503 else None)
    if retry_after is not None and status in (429, 503):
        response.headers["Retry-After"] = str(retry_after)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="gpudiag"'
    return response


def read_on() -> None:
    """Read the rest of a body that is too large: a sender that is cut off in the middle sees no answer."""
    body, left = request.environ["wsgi.input"], MOST_READ_ON
    with contextlib.suppress(GpudiagError):  # it stopped in the middle
        while left > 0 and (chunk := body.read(65_536)):
            left -= len(chunk)


def handle_errors(app: Flask, page: ErrorPage) -> None:
    """No error leaves the application as anything else, and none with a traceback; browsers get a `page`."""

    @app.errorhandler(GpudiagError)
    def _ours(error: GpudiagError) -> Response:
        return answer(error)

    @app.errorhandler(HTTPException)
    def _werkzeugs(error: HTTPException) -> Response:
        status = error.code or 500
        if status < 400:
            return Response(status=status, headers=error.get_headers())
        if wants_page():
            nothing_here = Sentence("no.page", path=plain(request.path, 200).replace("`", "ˋ"))
            advice = _advice(status, error.description or error.name)
            return page(nothing_here if status in (404, 405) else advice, status)
        response = problem(status, _advice(status, error.description or error.name).said(spoken()))
        if status == 405:
            allowed = dict(error.get_headers()).get("Allow")
            if allowed:
                response.headers["Allow"] = allowed
        return response

    @app.errorhandler(Exception)
    def _bug(error: Exception) -> Response:
        log.exception("%s %s failed", request.method, request.path)
        bug = Sentence("bug", name=type(error).__name__)
        return page(bug, 500) if wants_page() else problem(500, bug.said(spoken()))


def _advice(status: int, description: str) -> Sentence:
    """What is said where the framework refuses a request."""
    key = f"http.{status if status in ADVISED else 'other'}"
    return Sentence(key, path=request.path, method=request.method, status=status, description=description)
