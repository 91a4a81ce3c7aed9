"""Numbers as people read them: GiB, spans of time, percent."""

from __future__ import annotations

from datetime import UTC, datetime

from gpudiag.words import units
from gpudiag.words.units import UNKNOWN as UNKNOWN


def size(count: float | None) -> str:
    """15.0 GiB, as every surface writes it; a dash where it is not known."""
    return UNKNOWN if count is None else units.size(count)


def span(seconds: float | None, lang: str = "en") -> str:
    """6 s, 4 min 10 s, 2 h 5 min, 3 d."""
    return UNKNOWN if seconds is None else units.age(seconds, lang)


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else units.percent(value)


def moment(text: str | None) -> datetime | None:
    """A time of the API; None where there is none or it is not readable."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
