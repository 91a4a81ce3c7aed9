"""What rules ask: a GPU, a process, an engine and the host over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gpudiag.model import (
    EngineReading,
    GpuReading,
    HostReading,
    ProcessReading,
)
from gpudiag.window.levels import NAN
from gpudiag.window.rows import (
    ENGINE_COLUMNS,
    ENGINE_RISES,
    GPU_COLUMNS,
    GPU_COUNTERS,
    HOST_COLUMNS,
    NO_COUNTERS,
    SLOWING,
    THROTTLING,
    counters_of,
    gpu_row,
    mean_min_max,
    process_row,
    reasons_in,
    rise_of,
    rises_of,
    rising_of,
)
from gpudiag.window.tracks import (
    ENOUGH,
    W5,
    Coverage,
    NotMeasured,
    Stats,
    Table,
    Track,
    coverage,
)
from gpudiag.workloads import Workload, workload_of

if TYPE_CHECKING:
    from gpudiag.window.node import Window


RESETTING = frozenset({1, 4, 6})  # NVML's recovery actions: GPU reset, drain and reset, bus reset


Found = TypeVar("Found")


class Users(NamedTuple):
    """Who is on one GPU: processes (the largest first), engines, kinds of program, who is at work."""

    processes: list[ProcessWindow]
    engines: list[EngineWindow]
    kinds: frozenset[str]
    at_work: list[ProcessWindow]  # neither the desktop nor a monitor


NOBODY = Users([], [], frozenset(), [])


class Subject:
    """What a rule asks: `now` (the latest value), `over` (statistics), `covers` (is there enough?)."""

    def __init__(self, track: Track) -> None:
        self.track = track

    def over(self, name: str, span: float) -> Stats:
        """Statistics of `name` over the last `span` seconds; raises NotMeasured."""
        track = self.track
        table, question = track.table, (name, span)
        answers = table.known.get(question) or table.over(question)
        stats = answers[track.slot]
        if stats is None:
            raise NotMeasured(name, reason=self.gap(name))
        return stats

    def gap(self, name: str) -> str | None:
        """Why the newest snapshot does not carry a metric; None when nobody said."""
        return None

    def share(self, condition: str, span: float) -> float:
        """Share (0 to 1) of the samples of the last `span` with `condition`; raises NotMeasured."""
        return self.over(condition, span).mean

    def rise(self, name: str, span: float) -> float:
        """How much a counter rose within the last `span`; raises NotMeasured."""
        stats = self.over(name, span)
        return stats.mean * stats.n

    def covered(self, span: float) -> Coverage:
        """What samples cover of the last `span` seconds."""
        track = self.track
        table = track.table
        return (table.covers.get(span) or table.covered(span))[track.slot]

    def covers(self, span: float) -> bool:
        """Whether samples cover enough of the last `span` seconds to judge a pattern over it."""
        return self.covered(span).enough

    def require(self, span: float) -> None:
        """Raise NotMeasured when samples do not cover `span`: the pattern needs more time."""
        covered = self.covered(span)
        if not covered.enough:
            wait_seconds = max(10.0, math.ceil(ENOUGH * span - covered.seconds))
            raise NotMeasured("samples", reason="too_short", wait_seconds=wait_seconds)


class GpuWindow(Subject):
    """One GPU over time. `reading` is the latest one, which stays when the GPU is gone."""

    def __init__(self, node: Window, reading: GpuReading, track: Track) -> None:
        super().__init__(track)
        self.node = node
        self.reading = reading
        self.index = reading.index
        self.present = True
        self.first_seen = self.last_seen = 0.0
        self.throttled_at: float | None = None
        self.slowed_at: float | None = None
        self.reset_after: float | None = None  # the driver asked for a reset until then, and got it
        self._asked: tuple[float, float] | None = None  # first and last moment of its asking
        self._rises: dict[str, list[tuple[float, float]]] = {}
        self._rising: tuple[Any, ...] | None = None  # fast counters as they stood
        self._counted: tuple[Any, ...] = NO_COUNTERS  # slow ones
        self._users: Users | None = None  # as long as nobody comes or goes

    @property
    def unread(self) -> bool:
        """The newest snapshot does not carry it, because the driver did not answer: it may still be there."""
        return self.present and self.last_seen < self.node.time

    @property
    def unseen(self) -> bool:
        """Nothing is known of it just now: unread, or the driver gave no value of it."""
        return self.unread or self.reading.error is not None or self.gap("*") is not None

    def add(self, at: float, reading: GpuReading) -> list[float]:
        """Take note of what a snapshot says of it; returns the row for its track."""
        rising = rising_of(reading)
        rises = rises_of(rising, self._rising)
        row = gpu_row(reading, rises)
        reasons = reasons_in(reading, rises)
        if reasons & THROTTLING:
            self.throttled_at = at
            if reasons & SLOWING:
                self.slowed_at = at
        counters, counted = counters_of(reading), self._counted
        if counters != counted:
            for name, value, then in zip(GPU_COUNTERS, counters, counted, strict=True):
                if value is not None:
                    self._count(name, at, value, then)
        if reading.recovery_action or self._asked is not None:
            self._ask(at, reading.recovery_action)
        reading.samples = None  # they live in the track from now on
        if reading.index != self.index:
            self.node.forget_users()
        self.reading, self.index = reading, reading.index
        self._rising, self._counted = rising, counters
        self.present, self.last_seen = True, at
        self.first_seen = self.first_seen or at
        return row

    def _count(self, name: str, at: float, value: float, before: float | None) -> None:
        rises = self._rises.get(name)
        if rises is None:
            self._rises[name] = []  # known from now on; what it counted earlier is not ours to time
        elif before is not None and value != before:
            rises.append((at, value - before if value > before else value))
            del rises[:-50]

    def _ask(self, at: float, action: int | None) -> None:
        """Note what the driver asks for: that it asks for a reset no more is its word that there was one."""
        if action in RESETTING:
            self._asked = (self._asked[0] if self._asked else at, at)
        elif action is not None:
            if action == 0 and self._asked is not None and self._asked[0] < self._asked[1]:
                self.reset_after = self._asked[1]
            self._asked = None

    def now(self, name: str) -> Any:
        """The latest value of a metric; raises NotMeasured with the reason the agent gave."""
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(name, reason=self.gap(name))
        return value

    def gap(self, name: str) -> str | None:
        return self.node.gap(f"gpu:{self.index}", name)

    def throttled_within(self, span: float) -> bool:
        """Whether a reason other than idling held the clocks within the last `span`; raises NotMeasured."""
        return self._within(self.throttled_at, span)

    def slowed_within(self, span: float) -> bool:
        """Whether heat, a brake or the hardware itself held the clocks down; raises NotMeasured."""
        return self._within(self.slowed_at, span)

    def _within(self, at: float | None, span: float) -> bool:
        if at is None:
            self.now("clocks_event_reasons")
            return False
        return self.node.time - at < span

    def rise(self, name: str, span: float) -> float:
        if name in GPU_COLUMNS.at:
            return super().rise(name, span)
        rises = self._rises.get(name)
        if rises is None:
            raise NotMeasured(name, reason=self.gap(name))
        since = self.node.time - span
        return sum(amount for at, amount in rises if at > since)

    def rises(self, name: str, span: float) -> list[tuple[float, float]]:
        """(time, amount) of a slow counter's increases within the last `span` seconds; raises NotMeasured."""
        rises = self._rises.get(name)
        if rises is None:
            raise NotMeasured(name, reason=self.gap(name))
        since = self.node.time - span
        return [(at, amount) for at, amount in rises if at > since]

    def last_rise_at(self, name: str) -> float | None:
        rises = self._rises.get(name)
        return rises[-1][0] if rises else None

    # ---- who is on it

    @property
    def users(self) -> Users:
        """Processes, engines and kinds of program on it."""
        users = self._users
        if users is None:
            users = self._users = self.node.users.get(self.index, NOBODY)
        return users

    def forget_users(self) -> None:
        self._users = None

    @property
    def processes(self) -> list[ProcessWindow]:
        """Processes that use this GPU or hold it open, the largest first."""
        return (self._users or self.users).processes

    @property
    def engines(self) -> list[EngineWindow]:
        """Inference engines whose processes are on this GPU."""
        return (self._users or self.users).engines

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the programs on it, see `gpudiag.workloads`."""
        return (self._users or self.users).kinds

    @property
    def workloads(self) -> list[Workload]:
        return [process.workload for process in self.processes]


class ProcessWindow(Subject):
    """One process over time; the same pid with another start time is another process."""

    def __init__(self, reading: ProcessReading, track: Track) -> None:
        super().__init__(track)
        self.reading = reading
        self.last_seen = 0.0
        self.first_seen = 0.0
        self.served = False  # it belongs to an engine that has answered
        self.changed = True  # the newest reading calls it another program, or on other GPUs
        self.workload = workload_of(reading)
        self._on = _used_by(reading)
        self.gpus = self._find_gpus()  # indexes of those that it uses or holds open

    def add(self, at: float, reading: ProcessReading) -> list[float]:
        """Take note of what a snapshot says of it; returns the row for its track."""
        before, self.reading, self.last_seen = self.reading, reading, at
        self.first_seen = self.first_seen or at
        self.changed = False
        if reading.command != before.command or reading.frameworks != before.frameworks:
            self.workload, self.changed = workload_of(reading), True
        on = _used_by(reading)
        if on != self._on or reading.open_devices != before.open_devices:
            self._on, self.changed = on, True
            self.gpus = self._find_gpus()
        return process_row(reading)

    def _find_gpus(self) -> frozenset[int]:
        return frozenset(self._on).union(self.reading.open_devices or ())

    def memory_on(self, gpu: int) -> int | None:
        total = None
        for use in self.reading.gpus or ():
            if use.gpu == gpu and use.memory_used_bytes is not None:
                total = (total or 0) + use.memory_used_bytes
        return total

    def now(self, name: str) -> Any:
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(name)
        return value


def _used_by(reading: ProcessReading) -> list[int]:
    return [use.gpu for use in reading.gpus] if reading.gpus else []


class EngineWindow(Subject):
    """One inference engine over time."""

    def __init__(self, reading: EngineReading) -> None:
        super().__init__(Track(Table(ENGINE_COLUMNS, 1), 0))
        self.reading = reading
        self.last_seen = 0.0
        self.first_seen = 0.0
        self.served: set[int | None] = set()  # pids when it last answered
        self.changed = True  # the newest reading names other processes or GPUs
        self._found: dict[tuple[Callable[..., Any], tuple[Any, ...]], Any] = {}  # until the next snapshot

    @property
    def pids(self) -> set[int | None]:
        """The server's process and its workers'; None among them where the server's is not known."""
        return {self.reading.pid, *(self.reading.worker_pids or ())}

    def covered(self, span: float) -> Coverage:
        """The same of the time in which it answered: while it loads, nothing is known of requests."""
        whole = super().covered(span)
        answered = self.track.table.over(("answered", span))[0] if span <= W5 else None
        if answered is None or answered.mean == 1.0:
            return whole
        return coverage(round(whole.rows * answered.mean), whole.seconds * answered.mean, span)

    def once(self, ask: Callable[..., Found], *with_these: Any) -> Found:
        """What `ask` finds of this engine, found once a snapshot: every one of its GPUs asks the same."""
        key, found = (ask, with_these), self._found
        if key not in found:
            found[key] = ask(self, *with_these)
        return found[key]

    def rest(self) -> None:
        self._found.clear()

    def add(self, at: float, seconds: float, reading: EngineReading) -> None:
        self._found.clear()
        before = self.reading if self.last_seen else None
        cells: list[float] = []
        for value in (reading.requests_running, reading.requests_waiting, reading.kv_used_ratio):
            cells += mean_min_max(None, value)
        for name in ENGINE_RISES:
            cells.append(rise_of(getattr(reading, name), getattr(before, name, None)))
        for value in (reading.first_token_seconds_p95, reading.inter_token_seconds_p95):
            cells.append(NAN if value is None else value)
        cells += [NAN if told is None else float(told) for told in (reading.metrics_ok, reading.health_ok)]
        running, waiting = reading.requests_running, reading.requests_waiting
        cells.append(NAN if running is None else float(running + (waiting or 0) >= 1))
        cells.append(NAN if waiting is None else float(waiting >= 1))
        self.track.table.append(at, seconds, {0: cells})
        self.changed = _named_by(reading) != _named_by(self.reading)
        self.reading, self.last_seen = reading, at
        self.first_seen = self.first_seen or at

    def now(self, name: str) -> Any:
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(f"engine.{name}")
        return value


_named_by = attrgetter("pid", "worker_pids", "gpus")


class HostWindow(Subject):
    """The machine around the GPUs over time."""

    def __init__(self) -> None:
        super().__init__(Track(Table(HOST_COLUMNS, 1), 0))
        self.node: Window | None = None
        self._ports: dict[str, int] = {}
        self._downs: dict[str, list[tuple[float, int]]] = {}
        self.port_active_at: dict[str, float] = {}  # when each port was last seen active

    def add_ports(self, at: float, host: HostReading | None) -> None:
        """Take note of ports that are up, and of links that went down since the snapshot before."""
        for port in (host.ports if host else None) or ():
            if port.state is not None and port.state.lower() in ("active", "up"):
                self.port_active_at[port.name] = at
            if port.link_downed_total is None:
                continue
            before = self._ports.get(port.name)
            self._ports[port.name] = port.link_downed_total
            if before is not None and port.link_downed_total > before:
                downs = self._downs.setdefault(port.name, [])
                downs.append((at, port.link_downed_total - before))
                del downs[:-20]

    def link_downs(self, port: str, span: float) -> int:
        """How often a network port's link went down within the last `span` seconds."""
        since = (self.node.time if self.node else 0.0) - span
        return sum(count for at, count in self._downs.get(port, ()) if at > since)

    def now(self, name: str) -> Any:
        snapshot = self.node.latest if self.node else None
        value = getattr(snapshot.host, name) if snapshot and snapshot.host else None
        if value is None:
            raise NotMeasured(f"host.{name}", reason=self.node.gap("host", name) if self.node else None)
        return value
