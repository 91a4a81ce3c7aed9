"""What is known of one node in this process: its window, what is open, and which agents report it."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import msgspec

from api.judging.signs import NEVER_CALM
from api.store.snapshots import StoredNode
from gpudiag.changes import Key, OpenFinding
from gpudiag.model import SEVERITY_ORDER, Checkup, GpuReading, Severity
from gpudiag.verdict import NOT_ENOUGH
from gpudiag.window import Window

SILENT_INTERVALS = 2.5  # a node from which nothing came for longer is silent
STEADY_SECONDS = 2.0  # offsets of clocks that differ by less are the network's doing
TWO_AGENTS_TOLD = 900.0
MOST_STARTS = 8

NOT_DOUBTED = (float("nan"), float("nan"))

Rank = tuple[str, str]
"""Severity and rule of a verdict."""

FAILED: Rank = ("unknown", NOT_ENOUGH)
"""That of a node over whose snapshots our rules failed: there is no checkup then.

This one alone: a node of which too little is visible has the same.
"""

Place = tuple[int, tuple[Any, ...], str]
"""A node's place in a list: severity, then its name as people count, then the name itself."""


class Load(NamedTuple):
    """What a node's GPUs hold and do, as lists show it; None where it is not known of each."""

    gpus: int | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    utilization_percent: float | None = None  # of all GPUs, their mean


UNKNOWN_LOAD = Load()


@dataclass(slots=True)
class Start:
    """One start of an agent, as its reports tell."""

    sequence: int  # the highest
    first_taken: float
    last_taken: float


class NodeState:
    """What is known of one node. `lock` guards all of it but `id` and `name`."""

    __slots__ = (
        "arrived_at",
        "changed_at",
        "checkup",
        "current",
        "doubted",
        "headlines",
        "id",
        "judged_by_clock",
        "judged_time",
        "last_id",
        "late_at",
        "load",
        "loaded",
        "lock",
        "name",
        "offset",
        "open",
        "order",
        "packed_at",
        "rank",
        "rebuilt_at",
        "said",
        "signs",
        "starts",
        "stored",
        "stored_load",
        "told",
        "two_agents_at",
        "version",
        "waits",
        "window",
    )

    def __init__(self, row: StoredNode) -> None:
        self.id, self.name = row.id, row.name
        self.take_over(row)
        self.lock = threading.RLock()
        self.window = Window(row.name)
        self.window.received_at = row.last_seen
        self.open: dict[Key, OpenFinding] = {}
        self.checkup: Checkup | None = None
        self.loaded = False
        self.headlines: dict[str, dict[str, Any]] = {}
        self.said: dict[str, dict[str, Any]] = {}  # the diagnosis by language, until the next checkup
        self.rank: Rank | None = None  # of the verdict, as it was judged here
        self.order: tuple[Any, Place] | None = None  # a rank, and its place in a list
        self.load: tuple[float, Load] | None = None  # at the window's time
        self.starts: dict[int, Start] = {}
        self.current: int | None = None
        self.signs = NEVER_CALM
        self.judged_time = 0.0  # the window's time when it was last judged
        self.waits = False  # the newest snapshot was not judged yet
        self.two_agents_at = -TWO_AGENTS_TOLD
        self.offset = 0.0
        self.doubted = NOT_DOUBTED  # when a report was sent, and the offset by it alone
        self.last_id = 0
        self.judged_by_clock = 0.0
        self.arrived_at = 0.0  # when its last report came in, however old that was
        self.late_at: float | None = None  # when one came last that the window could not take any more
        self.rebuilt_at = float("-inf")  # when the window was built anew for those
        self.packed_at = 0.0

    def take_over(self, row: StoredNode) -> None:
        """Know the verdict that the store has of it."""
        self.version, self.stored, self.changed_at = row.version, row.verdict, row.changed_at
        self.stored_load = row.load
        verdict = (row.verdict or {}).get("verdicts", {}).get("en")
        self.told: Rank | None = (verdict["severity"], verdict["rule"]) if verdict else None

    def note_start(self, key: int, sequence: int, taken_at: float) -> None:
        """Remember an agent's start; one that goes on after a later start began is a second agent."""
        start = self.starts.get(key)
        if start is None:
            start = self.starts[key] = Start(sequence, taken_at, taken_at)
            if len(self.starts) > MOST_STARTS:
                del self.starts[next(iter(self.starts))]
        elif self.current is not None and key != self.current and key in self.starts:
            other = self.starts.get(self.current)
            if other is not None and taken_at > other.first_taken + 1.0:
                self.two_agents_at = taken_at
        if sequence >= start.sequence:  # also where our clock was set back
            start.sequence, start.last_taken = sequence, taken_at
        current = self.starts.get(self.current) if self.current is not None else None
        if current is None or taken_at >= current.last_taken:
            self.current = key

    @property
    def two_agents(self) -> bool:
        """Whether two agents reported under this name lately."""
        return abs(self.window.time - self.two_agents_at) < TWO_AGENTS_TOLD

    def offset_at(self, sent_at: float | None, received_at: float) -> float:
        """Server clock minus agent clock: kept steady against the network's delays.

        A report that waited on its way looks like one by a clock that is behind: two must agree on that.
        """
        if sent_at is None or sent_at == self.doubted[0]:
            return self.offset
        offset, (_, doubted) = received_at - sent_at, self.doubted
        self.doubted = NOT_DOUBTED
        if abs(offset - self.offset) < STEADY_SECONDS:
            return self.offset
        if offset < self.offset or abs(offset - doubted) < STEADY_SECONDS or not self.arrived_at:
            self.offset = 0.0 if abs(offset) < STEADY_SECONDS else offset
        else:
            self.doubted = sent_at, offset
        return self.offset

    def load_at(self, now: float) -> Load:
        """What its GPUs hold and do now, by whoever took its newest report."""
        window = self.window
        elsewhere = window.latest is None or self.is_behind
        if elsewhere and self.stored_load is not None and not is_silent(window, now):
            at, load = msgspec.json.decode(self.stored_load, type=tuple[float, Load])
            if window.received_at - at <= SILENT_INTERVALS * window.interval:
                return load
        return self.load_seen(now)

    def load_seen(self, now: float) -> Load:
        """The same by what was read here; where the newest report is old, only how many GPUs there are."""
        window = self.window
        latest = window.latest
        if latest is None:
            return Load((self.stored or {}).get("gpus"))
        known = self.load
        if known is None or known[0] != window.time:
            unread = latest.nvml is not None and latest.nvml.error is not None
            known = self.load = (window.time, UNKNOWN_LOAD if unread else load_of(latest.gpus))
        load = known[1]
        old = window.catches_up or is_silent(window, now) or self.is_behind
        return Load(load.gpus) if old else load

    @property
    def is_behind(self) -> bool:
        """Whether a process beside this one has newer reports of it, which were not read here yet."""
        window = self.window
        return window.received_at - window.time > SILENT_INTERVALS * window.interval

    def reports_at(self, now: float) -> bool:
        """Whether reports come in, be they old ones: of a past in which the server could not be reached."""
        return 0.0 <= now - self.arrived_at <= SILENT_INTERVALS * self.window.interval

    def forget_memory(self) -> None:
        """What is in memory of it is built from the store again."""
        self.loaded, self.last_id, self.checkup = False, 0, None
        self.starts.clear()
        self.current = None


def load_of(gpus: Sequence[GpuReading]) -> Load:
    """What GPUs hold and do together."""
    if not gpus:
        return Load(0)
    busy = _sum([gpu.utilization_percent for gpu in gpus])
    return Load(
        len(gpus),
        _sum([gpu.memory_used_bytes for gpu in gpus]),
        _sum([gpu.memory_total_bytes for gpu in gpus]),
        None if busy is None else round(busy / len(gpus), 1),
    )


def _sum(values: Sequence[Any]) -> Any:
    """None where one is not known: a sum that leaves it out would tell of another node."""
    try:
        return sum(values)
    except TypeError:  # to look for None first takes twice as long, for every node of a fleet
        return None


def is_silent(window: Window, now: float) -> bool:
    """Whether reports are missing that were due."""
    return window.age(now) > SILENT_INTERVALS * window.interval


def place_of_node(severity: str, name: str) -> Place:
    """Where a list that begins with the worst has a node."""
    return -SEVERITY_ORDER.index(cast(Severity, severity)), natural(name), name


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts node-2 before node-10."""
    parts = re.split(r"(\d+)", name)
    return tuple(
        (0, int(part[:18]), "") if part.isdigit() and part.isascii() else (1, 0, part)
        for part in parts
        if part
    )
