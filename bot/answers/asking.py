"""Who asks, where and when: everything an answer needs besides the request itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from bot.numbers import UNKNOWN
from bot.words import say

if TYPE_CHECKING:
    from bot.answer import Answer
    from bot.questions import Questions
    from bot.state import State


@dataclass(frozen=True)
class Place:
    """A chat channel and the person who asks in it; ids, never display names."""

    team: str
    channel: str
    user: str


@dataclass(frozen=True)
class Asking:
    api: Questions
    lang: str = "en"
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    zone: tzinfo = UTC
    prefix: str = "/gpu"
    public_url: str = ""
    place: Place | None = None
    state: State | None = None
    may_change: Callable[[str], bool] = lambda verb: False
    doctor: Callable[[str], Answer] | None = None
    stale_seconds: float = 30.0

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def command(self, sentence: str) -> str:
        """A command as the person would type it here, as code."""
        typed = f'{self.prefix} "{sentence}"' if self.prefix.endswith("ask") else f"{self.prefix} {sentence}"
        return f"`{typed.strip().replace('`', 'ˋ')}`"

    def link(self, url: str) -> str:
        """An absolute link; empty when there is none that works from elsewhere."""
        absolute = urljoin(self.public_url.rstrip("/") + "/", url) if self.public_url else url
        return absolute if absolute.startswith(("https://", "http://")) else ""

    def time(self, when: datetime | None) -> str:
        """A moment in the person's zone, with the zone's name."""
        if when is None:
            return UNKNOWN
        local = when.astimezone(self.zone)
        same_day = local.date() == self.now.astimezone(self.zone).date()
        return f"{local:%H:%M} {local:%Z}" if same_day else f"{local:%Y-%m-%d %H:%M} {local:%Z}"
