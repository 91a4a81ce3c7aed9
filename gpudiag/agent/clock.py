"""Time as the agent sees it: a parameter, so that an hour of events plays in seconds."""

from __future__ import annotations

import threading
import time
from typing import Protocol

STILL_SECONDS = 5.0


class Clock(Protocol):
    """`time` tells when (it may jump), `monotonic` how long (it never does).

    A wait that takes `still_seconds` longer than it was to is one in which the process itself stood still.
    """

    still_seconds: float

    def time(self) -> float: ...

    def monotonic(self) -> float: ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits so long, or until the event is set; tells whether it is."""
        ...


class RealClock:
    """The clock of the machine."""

    still_seconds = STILL_SECONDS

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(max(0.0, seconds))


class ScaledClock:
    """A clock that runs `factor` times as fast as the real one, from now on."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.still_seconds = STILL_SECONDS * factor  # a busy machine is late by real time
        self._real_start = time.monotonic()
        self._start = time.time()
        self._jump = self._stood = 0.0

    def time(self) -> float:
        return self._start + self._jump + self.monotonic()

    def monotonic(self) -> float:
        return (time.monotonic() - self._real_start) * self.factor + self._stood

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(max(0.0, seconds) / self.factor)

    def stands_still(self, seconds: float) -> None:
        """What a process sees that was stopped for so long: everything else went on."""
        self._stood += seconds

    def jumps(self, seconds: float) -> None:
        """Moves the time of day, as an operator or a time server does; durations go on unmoved."""
        self._jump += seconds
