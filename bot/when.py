"""`at 15:40`, `10m ago`, `어제 15:40`: a typed moment made exact. The clock and the zone are parameters."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

AGO = re.compile(
    r"(\d{1,6})\s*(s|sec|seconds?|초|m|min|minutes?|분|h|hours?|시간|d|days?|일)\s*(?:ago)?\Z", re.I
)
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(z|utc)?\Z", re.I)
KOREAN_CLOCK = re.compile(r"(\d{1,2})시(?:\s*(\d{1,2})분)?(?:에)?\Z")
UNITS = {"s": 1, "초": 1, "m": 60, "분": 60, "h": 3600, "시": 3600, "d": 86400, "일": 86400}


def exact(text: str, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """The moment in UTC, always before `now`; None when the text is no moment that has been."""
    try:
        return _exact(text, now, zone)
    except OverflowError:  # before the year 1
        return None


def _exact(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    text = text.strip().strip("?.,").removesuffix("에").strip()
    if found := AGO.match(text.lstrip("-").strip()):
        if text.endswith("ago") or text.startswith("-"):
            return now - timedelta(seconds=int(found[1]) * UNITS[found[2][0].lower()])
        return None
    days, text = yesterday(text)
    try:
        when = clock(text, now.astimezone(zone)) or datetime.fromisoformat(
            text.upper().replace("Z", "+00:00")
        )
    except ValueError:
        return None
    when = (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)
    if days:
        today = now.astimezone(zone).date() == when.astimezone(zone).date()
        when -= timedelta(days=1 if today else 0)
    return when if when <= now else None


def yesterday(text: str) -> tuple[int, str]:
    for word in ("yesterday", "어제"):
        if text.lower().startswith(word):
            return 1, text[len(word) :].strip()
    return 0, re.sub(r"^(today|오늘)\s*", "", text, flags=re.I)


def clock(text: str, now: datetime) -> datetime | None:
    """The latest such time of day that has passed."""
    if found := CLOCK.match(text):
        base = now.astimezone(UTC) if found[4] else now
        hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    elif found := KOREAN_CLOCK.match(text):
        base, hour, minute, second = now, int(found[1]), int(found[2] or 0), 0
    else:
        return None
    when = base.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return when if when <= base else when - timedelta(days=1)
