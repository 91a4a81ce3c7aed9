"""Errors as `application/problem+json` (RFC 9457): what happened, where, and what to do."""

from __future__ import annotations

import contextlib
import logging
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Flask, Response, current_app, request
from markupsafe import escape
from werkzeug.exceptions import HTTPException

from gpudiag.errors import GpudiagError
from gpudiag.words import Language, language_of
from gpudiag.words.foreign import plain

log = logging.getLogger("gpudiag.api")

MOST_READ_ON = 64 << 20

CONTENT_TYPE = "application/problem+json"

_ADVICE = {
    404: "There is nothing at {path}. /openapi.json lists what is there.",
    405: "{method} is not for {path}. /openapi.json lists what is.",
    413: "The body is larger than this server takes (4 MiB).",
    415: "The body is of a kind that {path} does not read.",
}


class BadRequest(GpudiagError):
    """The question cannot be read."""

    status = 400


class Unprocessable(GpudiagError):
    """The question is read, and asks for what cannot be."""

    status = 422


class NoSuch(GpudiagError):
    """There is no such node, finding or rule; `nearest` are names like it."""

    status = 404

    def __init__(self, message: str, nearest: list[str] | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest or []


PAGE = """<!doctype html>
<html lang="{lang}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>gpudiag</title>
<link rel="stylesheet" href="/assets/style.css"></head>
<body><main><h1>{said}</h1><p><code>{path}</code></p><p><a href="/">{home}</a></p></main></body>
</html>
"""
PAGE_WORDS = {
    "en": {"said": "There is no page at this address.", "home": "All nodes"},
    "ko": {"said": "이 주소에는 페이지가 없습니다.", "home": "전체 노드"},
}
PAGE_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"


def wants_page() -> bool:
    """Whether a browser asks: it names HTML, and likes it better than JSON."""
    accepted = request.accept_mimetypes
    named = any(kind == "text/html" for kind, _ in accepted)
    return named and accepted["text/html"] >= max(accepted["application/json"], accepted[CONTENT_TYPE])


def no_page() -> Response:
    """What a person sees at an address that nothing owns."""
    lang = spoken()
    text = PAGE.format(lang=lang, path=escape(plain(request.path, 200)), **PAGE_WORDS[lang])
    response = Response(text, 404, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = PAGE_POLICY
    response.headers["Vary"] = "Accept, Accept-Language"
    return response


def spoken() -> Language:
    """The language of an error: as that of an answer, but one without words is no error once more."""
    wanted = request.args.get("lang") or request.headers.get("Accept-Language")
    return language_of(wanted or current_app.extensions["gpudiag"].settings.serve.lang)


def problem(status: int, detail: str, **more: Any) -> Response:
    """A response; `more` are further members, left out where they say nothing."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Error",
        "status": status,
        "detail": detail,
        "instance": request.path,
        **{name: value for name, value in more.items() if value not in (None, [])},
    }
    return Response(msgspec.json.encode(body), status, content_type=CONTENT_TYPE)


def answer(error: GpudiagError) -> Response:
    """One of our errors as a response."""
    status = error.status if 400 <= error.status < 600 else 400
    response = problem(status, error.said(spoken()), nearest=getattr(error, "nearest", None))
    response.headers["Vary"] = "Accept-Language"
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


def handle_errors(app: Flask) -> None:
    """No error leaves the application as anything else, and none with a traceback."""

    @app.errorhandler(GpudiagError)
    def _ours(error: GpudiagError) -> Response:
        return answer(error)

    @app.errorhandler(HTTPException)
    def _werkzeugs(error: HTTPException) -> Response:
        status = error.code or 500
        if status < 400:
            return Response(status=status, headers=error.get_headers())
        if status == 404 and request.endpoint is None and wants_page():
            return no_page()
        advice = _ADVICE.get(status, "{description}")
        said = advice.format(path=request.path, method=request.method, description=error.description or "")
        response = problem(status, said)
        if status == 405:
            allowed = dict(error.get_headers()).get("Allow")
            if allowed:
                response.headers["Allow"] = allowed
        return response

    @app.errorhandler(Exception)
    def _bug(error: Exception) -> Response:
        log.exception("%s %s failed", request.method, request.path)
        said = (
            f"gpudiag failed here ({type(error).__name__}); this is a bug, the server's log has the details"
        )
        return problem(500, said)
