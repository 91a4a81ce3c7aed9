"""How asking the API can fail: a class for each thing that a caller handles differently.

What our API says itself is a problem+json with a sentence. An answer without one comes from somebody else at
a wrong address, or from a proxy in between: it says nothing about what was asked or sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from gpudiag.errors import GpudiagError
from gpudiag.words.foreign import plain
from gpudiag.words.refusals import Refusal

LONGEST_RETRY = 300.0  # seconds, whatever a server asks for


class Answer:
    """One answer: status, headers (names in lower case) and body."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        """The body as JSON; raises Broken when it is something else."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Broken(Refusal("api-not-json")) from None

    def shaped(self, shape: Any) -> dict[str, Any]:
        """The body as JSON of a known shape; raises Broken when it is another one."""
        found: dict[str, Any] = self.json()
        try:
            msgspec.convert(found, shape)
        except msgspec.ValidationError as error:
            raise Broken(Refusal("api-other-form", reason=plain(error, 120))) from None
        return found


class ApiError(GpudiagError):
    """The API gave no usable answer. `problem` holds its problem+json, where it sent one.

    `answered` is the HTTP status, None where none came. The message is what the server says, or a sentence
    of ours that every language has.
    """

    exit_code = 3
    status = 502
    answered: int | None = None

    def __init__(self, message: str | Refusal, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(str(message))
        self._message = message
        self.problem = dict(problem or {})

    def said(self, language: str) -> str:
        return self._message.said(language) if isinstance(self._message, Refusal) else self._message


class Unreachable(ApiError):
    """Nobody answers at the address, or not in time: try again later."""


class Busy(ApiError):
    """The server asks to come back after `retry_after` seconds."""

    status = 503
    retry_after = 5.0


class Unauthorized(ApiError):
    """The token is missing or not known."""

    status = 401


class Forbidden(ApiError):
    """The token may not do this."""

    status = 403


class NotFound(ApiError):
    """There is no such node, finding or rule; `nearest` are names like the one asked for."""

    status = 404

    @property
    def nearest(self) -> list[str]:
        told = self.problem.get("nearest")
        return [plain(name, 253) for name in told] if isinstance(told, list) else []


class Refused(ApiError):
    """What was sent is wrong, says our API, and will be refused again (400, 409, 413, 415, 422)."""

    status = 422
    exit_code = 2


class Broken(ApiError):
    """The server failed, or what answers there is not our API."""


_SAID_BY_US: dict[int, type[ApiError]] = {
    400: Refused,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Refused,
    413: Refused,
    415: Refused,
    422: Refused,
}
_SAID_BY_ANYBODY: dict[int, type[ApiError]] = {429: Busy, 503: Busy}


def failure(answer: Answer, url: str) -> ApiError:
    """What an answer that is no success means."""
    problem = _problem(answer)
    kind = _SAID_BY_ANYBODY.get(answer.status, Broken)
    if problem:
        kind = _SAID_BY_US.get(answer.status, kind)
    said = problem.get("detail") or problem.get("title")
    error = kind(plain(said, 1_000) if said else _in_words(answer, url), problem)
    error.answered = answer.status
    if isinstance(error, Busy):
        error.retry_after = _seconds(answer.headers.get("retry-after"), Busy.retry_after)
    return error


def _problem(answer: Answer) -> dict[str, Any]:
    """What our API says of an error; empty where it was not our API that answered."""
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        return {}
    try:
        decoded = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _in_words(answer: Answer, url: str) -> Refusal:
    """The sentence for an answer that brings none of ours."""
    status = answer.status
    known = status in HTTPStatus._value2member_map_
    told = f"{status} {HTTPStatus(status).phrase}" if known else f"{status}"
    if 300 <= status < 400 and "location" in answer.headers:
        onward = plain(answer.headers["location"], 200)
        return Refusal("api-sends-on", url=url, onward=onward, told=told)
    if status == 413:
        return Refusal("api-body-too-large", url=url, told=told)
    if status in (415, 429) or status >= 500:
        return Refusal("api-without-reason", url=url, told=told)
    return Refusal("api-not-ours", url=url, told=told)


def _seconds(text: str | None, default: float) -> float:
    try:
        return min(max(0.0, float(text)), LONGEST_RETRY) if text is not None else default
    except ValueError:
        return default
