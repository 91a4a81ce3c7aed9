"""How asking the API can fail: a class for each thing that a caller handles differently.

What our API says itself is a problem+json with a sentence, in which it names itself. Any other answer comes
from somebody else at a wrong address, or from a proxy in between: it says nothing about what was asked or
sent. A gateway that speaks problem+json too is heard, and never believed that a report is wrong.
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
SERVICE = "gpudiag"
"""What our API writes under `service` in every problem, so that it is told from whoever else speaks them."""


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

    `answered` is the HTTP status, None where none came; `ours` tells whether our API said it. The message
    is what the server says, or a sentence of ours that every language has.
    """

    exit_code = 3
    status = 502
    answered: int | None = None
    ours = False

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
_LIKE_OURS: dict[int, type[ApiError]] = {401: Unauthorized, 403: Forbidden, 404: NotFound}
"""What a problem of an API older than its naming itself is taken for: nothing is dropped for these."""
_SAID_BY_ANYBODY: dict[int, type[ApiError]] = {429: Busy, 503: Busy}


def failure(answer: Answer, url: str) -> ApiError:
    """What an answer that is no success means."""
    problem = _problem(answer)
    ours = problem.get("service") == SERVICE
    kinds = _SAID_BY_US if ours else _LIKE_OURS if problem else {}
    kind = kinds.get(answer.status) or _SAID_BY_ANYBODY.get(answer.status, Broken)
    error = kind(_sentence(answer, url, problem, ours), problem)
    error.answered, error.ours = answer.status, ours
    if isinstance(error, Busy):
        error.retry_after = _seconds(answer.headers.get("retry-after"), Busy.retry_after)
    return error


def _problem(answer: Answer) -> dict[str, Any]:
    """The problem that an answer brings, whoever says it; empty where it brings none."""
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        return {}
    try:
        decoded = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _sentence(answer: Answer, url: str, problem: Mapping[str, Any], ours: bool) -> str | Refusal:
    """What our API says of it, or what is to be said of an answer that is not known to be our API's."""
    said = plain(problem.get("detail") or problem.get("title") or "", 1_000)
    if said and ours:
        return said
    if said:
        return Refusal("api-unnamed", url=url, told=_told(answer.status), said=said)
    return _in_words(answer, url)


def _told(status: int) -> str:
    known = status in HTTPStatus._value2member_map_
    return f"{status} {HTTPStatus(status).phrase}" if known else f"{status}"


def _in_words(answer: Answer, url: str) -> Refusal:
    """The sentence for an answer that brings none of ours."""
    status, told = answer.status, _told(answer.status)
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
