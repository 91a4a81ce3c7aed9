"""Time as the agent sees it: a parameter, so that an hour of events plays in seconds."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """`time` tells when (it may jump), `monotonic` how long (it never does)."""

    def time(self) -> float: ...

    def monotonic(self) -> float: ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits so long, or until the event is set; tells whether it is."""
        ...


class RealClock:
    """The clock of the machine."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(max(0.0, seconds))


class ScaledClock:
    """A clock that runs `factor` times as fast as the real one, from `start` on."""

    def __init__(self, factor: float, start: float | None = None) -> None:
        self.factor = factor
        self._real_start = time.monotonic()
        self._start = time.time() if start is None else start
        self._jump = 0.0

    def time(self) -> float:
        return self._start + self._jump + self.monotonic()

    def monotonic(self) -> float:
        return (time.monotonic() - self._real_start) * self.factor

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(max(0.0, seconds) / self.factor)

    def jumps(self, seconds: float) -> None:
        """Moves the time of day, as an operator or a time server does; durations go on unmoved."""
        self._jump += seconds
