"""Reading a question: its query, its body, and the form in which the answer is wanted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from flask import Response, request

from api.problems import BadRequest, Unprocessable
from gpudiag.settings import seconds
from gpudiag.words import LANGUAGES, Language, language_of
from gpudiag.words.foreign import plain

MOST_ITEMS = 1_000


def json_answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, content_type="application/json")


def text_answer(text: str, content_type: str = "text/plain; charset=utf-8") -> Response:
    response = Response(text, content_type=content_type)
    response.headers["Vary"] = "Accept, Accept-Language"
    return response


def only_options(known: Collection[str]) -> None:
    """Refuse an option that is mistyped or given twice: passed over, the answer looks like what was asked."""
    for name, values in request.args.lists():
        if name not in known:
            raise BadRequest("option", name=plain(name, 40), known=", ".join(known))
        if len(values) > 1:
            raise BadRequest("option.twice", name=name)


def language(default: str = "en") -> Language:
    """`?lang=`, else Accept-Language, else the server's."""
    wanted = request.args.get("lang")
    if wanted is not None:
        found = language_of(wanted)
        if not wanted.lower().startswith(found):
            raise BadRequest("lang", wanted=plain(wanted, 20), known=", ".join(LANGUAGES))
        return found
    header = request.headers.get("Accept-Language")
    return language_of(header) if header else language_of(default)


def number(name: str, default: int | None, low: int, high: int) -> int | None:
    """A whole number of the query."""
    text = request.args.get(name)
    if text is None or text == "":
        return default
    try:
        value = int(text) if len(text) < 12 else -1
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise BadRequest("number", name=name, text=plain(text, 40), low=low, high=high)
    return value


def limit() -> int:
    return number("limit", 100, 1, MOST_ITEMS) or 100


def span(text: str, name: str) -> float:
    try:
        return seconds(text)
    except ValueError:
        raise BadRequest("span", name=name, text=plain(text, 40)) from None


def body_object() -> dict[str, Any]:
    """The body as a JSON object; an empty body is an empty object."""
    raw = request.get_data()
    if not raw.strip():
        return {}
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("body.json", error=error) from None
    if not isinstance(value, dict):
        raise Unprocessable("body.object")
    return value


def text_of(body: dict[str, Any], name: str, default: str | None = None, longest: int = 500) -> str:
    """A text of a JSON body, without what no surface may show."""
    value = body.get(name, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise Unprocessable("body.text", name=name)
    if len(value) > longest:
        raise Unprocessable("body.long", name=name, longest=longest)
    return plain(value, longest).strip()


def wants_json() -> bool:
    """Whether JSON is asked for by `?format=json` or an Accept header that prefers it to text."""
    form = request.args.get("format")
    if form is not None:
        if form not in ("json", "text"):
            raise BadRequest("format", form=plain(form, 20))
        return form == "json"
    best = request.accept_mimetypes.best_match(["text/plain", "application/json"])
    return best == "application/json" and "*/*" not in request.headers.get("Accept", "*/*").split(",")[0]
