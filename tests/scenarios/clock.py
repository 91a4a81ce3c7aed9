"""A clock that stands still while somebody works, and then goes on to the next moment anybody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpudiag.agent.clock import STILL_SECONDS

PATIENCE = 20.0  # real seconds for a thread that works
DRIVER_PATIENCE = 3.0  # real seconds for a call into the driver, which may hang


class _Wait:
    def __init__(self, event: threading.Event, until: float) -> None:
        self.event, self.until = event, until
        self.condition: threading.Condition = getattr(event, "_cond")  # noqa: B009 - not told to mypy


class SteppedClock:
    """The agent's clock. Its threads wait on it; the story's thread lets time pass.

    `before` are called with the moment to come, before it comes: they bring the world up to it.
    """

    still_seconds = STILL_SECONDS

    def __init__(self, start: float) -> None:
        self._start, self._now, self._jump = start, 0.0, 0.0
        self._changed = threading.Condition()
        self._waits: dict[threading.Thread, _Wait] = {}
        self._busy: dict[threading.Thread, float] = {}
        self.before: list[Callable[[float], None]] = []

    def time(self) -> float:
        return self._start + self._jump + self._now

    def monotonic(self) -> float:
        me = threading.current_thread()
        if me in self._busy:  # it asks before every call into the driver: a sign of life
            self._busy[me] = time.monotonic()
        return self._now

    def jumps(self, seconds: float) -> None:
        """Moves the time of day only."""
        self._jump += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        me = threading.current_thread()
        wait = _Wait(event, self._now + max(0.0, seconds))
        with self._changed:
            self._busy.pop(me, None)
            self._waits[me] = wait
            self._changed.notify_all()
        with wait.condition:
            while not event.is_set() and self._now < wait.until:
                wait.condition.wait(1.0)
        with self._changed:
            self._waits.pop(me, None)
            self._busy[me] = time.monotonic()
        return event.is_set()

    # ---- the story's side

    def expects(self, threads: int) -> None:
        """Waits until so many threads have found the clock."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while len(self._waits) + len(self._busy) < threads and time.monotonic() < deadline:
                self._changed.wait(0.05)

    def passes(self, seconds: float) -> None:
        """Lets so much time pass, from one moment that matters to the next."""
        end = self._now + seconds
        while True:
            self._settle()
            with self._changed:
                nexts = [wait.until for wait in self._waits.values() if wait.until > self._now]
            moment = min([*nexts, end])
            for prepare in self.before:
                prepare(moment)
            self._now = moment
            with self._changed:
                due = [wait for wait in self._waits.values() if wait.until <= moment]
            for wait in due:
                with wait.condition:
                    wait.condition.notify_all()
            if moment >= end:
                self._settle()
                return

    def _settle(self) -> None:
        """Waits until every thread waits for a later moment, or hangs in the driver."""
        with self._changed:
            while self._somebody_works():
                self._changed.wait(0.01)

    def _somebody_works(self) -> bool:
        if any(wait.event.is_set() or wait.until <= self._now for wait in self._waits.values()):
            return True
        now = time.monotonic()
        for thread, since in list(self._busy.items()):
            if not thread.is_alive():
                del self._busy[thread]
            elif now - since < (DRIVER_PATIENCE if thread.name.startswith("nvml-") else PATIENCE):
                return True
        return False
