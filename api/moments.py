"""Moments and spans of time as people write them in a question."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from api.problems import BadRequest
from gpudiag.settings import seconds
from gpudiag.words.foreign import plain

AHEAD_SECONDS = 300.0  # how far the asker's clock may be ahead of ours
LONGEST_PAST = 86_400.0  # of the past that is judged again: every snapshot of it is read

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


def moment(text: str, now: float) -> float:
    """A moment as people write it: Unix seconds, ISO 8601, `10m` (ago), `14:05` (UTC, the last one)."""
    at = _moment(text.strip(), now)
    if at > now + AHEAD_SECONDS:
        raise BadRequest("moment.future", text=plain(text, 40))
    return at


def _moment(text: str, now: float) -> float:
    try:
        number = float(text)
        if 1e8 < number < 1e11:
            return number
    except ValueError:
        pass
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        day = now - now % 86_400
        at = day + int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3] or 0)
        return at if at <= now else at - 86_400
    try:
        return now - seconds(text.lstrip("-").removesuffix("ago").strip())
    except ValueError:
        pass
    try:
        parsed = datetime.fromisoformat(text.replace("Z", "+00:00").replace(" ", "T", 1))
    except ValueError:
        raise BadRequest("moment", text=plain(text, 40)) from None
    return max(0.0, (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())


def span_of(text: str) -> float:
    """How much of the past to judge by: `5m`; raises BadRequest."""
    try:
        found = seconds(text)
    except ValueError:
        raise BadRequest("span", name="window", text=plain(text, 40)) from None
    return judged_again(found, "window", text)


def judged_again(span: float, name: str, text: str) -> float:
    """A span of the past, when it is not too long to be judged again; raises BadRequest."""
    if span > LONGEST_PAST:
        raise BadRequest("span.day", name=name, text=plain(text, 40))
    return span
