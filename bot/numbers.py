"""Numbers as people read them: GiB, spans of time, percent."""

from __future__ import annotations

from datetime import UTC, datetime

GIB = 2**30


def size(count: float | None) -> str:
    """128 KiB, 15.0 GiB; a dash where the number is not known."""
    if count is None:
        return "-"
    for unit, name in ((GIB * 1024, "TiB"), (GIB, "GiB"), (2**20, "MiB"), (1024, "KiB")):
        if abs(count) >= unit:
            value = count / unit
            return f"{value:.0f} {name}" if name == "KiB" and value == int(value) else f"{value:.1f} {name}"
    return f"{count:.0f} B"


def span(seconds: float | None, lang: str = "en") -> str:
    """6 s, 4 min, 2 h 5 min, 3 d."""
    if seconds is None:
        return "-"
    seconds = max(0, round(seconds))
    s, m, h, d = ("초", "분", "시간", "일") if lang == "ko" else (" s", " min", " h", " d")
    if seconds < 90:
        return f"{seconds}{s}"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes}{m}"
    hours, minutes = divmod(minutes, 60)
    if hours < 36:
        return f"{hours}{h} {minutes}{m}" if minutes else f"{hours}{h}"
    days, hours = divmod(hours, 24)
    return f"{days}{d} {hours}{h}" if hours else f"{days}{d}"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}%"


def moment(text: str | None) -> datetime | None:
    """A time of the API; None where there is none or it is not readable."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
