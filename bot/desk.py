"""The front desk: takes a typed sentence from a place, gives the answer, and remembers who speaks what.

Knows the API and the bot's state; knows no chat system. Slow questions run on a pool of its own, so that they
never stand in the way of quick ones.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.access import may_change
from bot.answer import Answer
from bot.answers import Asking, answer
from bot.answers.asking import Place
from bot.questions import Questions
from bot.request import Request
from bot.settings import Settings
from bot.state import State
from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.bot")

WORKERS = 32
DAY = 86400.0


class Desk:
    """One per process. `person` looks a person's language and zone up in the chat system, where it may."""

    def __init__(
        self,
        settings: Settings,
        api: Questions,
        state: State,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        self.settings = settings
        self.api = api
        self.state = state
        self.clock = clock
        self.person: Callable[[str], tuple[str, str] | None] | None = None
        self.doctor: Callable[[str], Answer] | None = None
        self.pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="answer")
        self.looking_up: set[tuple[str, str]] = set()
        self.lock = threading.Lock()

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)

    def start(self, request: Request, place: Place) -> Future[Answer]:
        """Begin to answer; the caller decides how long it waits."""
        return self.pool.submit(self.answer, request, place)

    def answer(self, request: Request, place: Place) -> Answer:
        return answer(request, self.asking(place))

    def later(self, work: Callable[[], None]) -> None:
        """Do something after the acknowledgement. What goes wrong is logged, never lost."""

        def run() -> None:
            try:
                work()
            except GpudiagError as error:
                log.error("work after an acknowledgement failed: %s", error)
            except Exception as error:
                log.exception("work after an acknowledgement failed: %s", error)

        self.pool.submit(run)

    def asking(self, place: Place) -> Asking:
        return Asking(
            api=self.api,
            lang=self.language(place),
            now=self.clock(),
            zone=self.zone(place),
            public_url=self.settings.link_url,
            place=place,
            state=self.state,
            may_change=lambda verb: may_change(verb, place, self.settings, self.state),
            doctor=self.doctor,
        )

    def language(self, place: Place) -> str:
        """What was set for the channel, else for the workspace, else the person's own language."""
        return (
            self.state.language(place.team, place.channel)
            or self.state.language(place.team, "")
            or self.own_language(place)
            or self.settings.lang
        )

    def own_language(self, place: Place) -> str | None:
        """From the cache; when it is not there it is looked up behind this answer, for the next one."""
        now, key = self.clock().timestamp(), (place.team, place.user)
        with self.lock:  # what was looked up meanwhile is in the cache before it is no more looked up
            found = self.state.language(place.team, f"person:{place.user}", now)
            new = found is None and bool(self.person and place.user) and key not in self.looking_up
            if new:
                self.looking_up.add(key)
        if new:
            self.later(lambda: self.look_up(place))
        return found or None

    def look_up(self, place: Place) -> None:
        """Ask for language and zone once a day; where the scope is missing, not again before tomorrow."""
        try:
            lang, zone = (self.person(place.user) if self.person else None) or ("", "")
            until = self.clock().timestamp() + DAY
            self.state.set_language(place.team, f"zone:{place.user}", zone, until)
            self.state.set_language(place.team, f"person:{place.user}", lang, until)
        finally:
            with self.lock:
                self.looking_up.discard((place.team, place.user))

    def zone(self, place: Place) -> tzinfo:
        name = self.state.language(place.team, f"zone:{place.user}", self.clock().timestamp())
        try:
            return ZoneInfo(name) if name else UTC
        except (ZoneInfoNotFoundError, ValueError):
            return UTC
