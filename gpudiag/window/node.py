"""One node over time: folds snapshots in, and knows its GPUs, processes, engines, host and kernel events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from operator import attrgetter

import msgspec

from gpudiag.model import (
    GpuReading,
    KernelEvent,
    ProcessReading,
    Snapshot,
)
from gpudiag.window.levels import NAN
from gpudiag.window.rows import (
    GPU_COLUMNS,
    HOST_COLUMNS,
    PROCESS_COLUMNS,
)
from gpudiag.window.subjects import EngineWindow, GpuWindow, HostWindow, ProcessWindow, Users
from gpudiag.window.tracks import W2, NotMeasured, Table
from gpudiag.workloads import AT_REST

EVENTS_KEPT = 200
DEPARTED_KEPT = 32
GPUS_KEPT = 256  # more are forgotten, those first that are gone for longest


class _Unseen(msgspec.Struct, array_like=True):
    """A GPU that the newest snapshot does not carry, as it is packed."""

    key: str
    reading: GpuReading  # the last one
    last_seen: float
    present: bool  # the driver did not answer; else it is gone


class _Past(msgspec.Struct, array_like=True):
    """What a few recent snapshots do not tell of a node's GPUs."""

    most_gpus: int
    boot_id: str | None
    rebooted_at: float
    unseen: list[_Unseen]


class OtherLayout(ValueError):
    """Another version packed it: what its rows mean is not known here."""


class Window:
    """One node over time, as its snapshots told.

    `time` is the moment of the newest snapshot, `received_at` when the server got it; `expected_gpus` may be
    declared. GPUs are remembered by UUID (else by bus id, else by index) after they vanish.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.latest: Snapshot | None = None
        self.time = 0.0
        self.received_at = 0.0
        self.judged_at: float | None = None  # set by the judge, for rules about age
        self.unheard_since: float | None = None  # the server began to listen, and nothing came since
        self.catches_up = False  # the newest came late: its agent sends what it kept, and more follows
        self.started = 0.0
        self.snapshots = 0
        self.gpus: dict[str, GpuWindow] = {}
        self._gpu_table = Table(GPU_COLUMNS)
        self._process_table = Table(PROCESS_COLUMNS)
        self.processes: dict[tuple[int, float], ProcessWindow] = {}
        self.engines: dict[str, EngineWindow] = {}
        self.departed: deque[ProcessWindow] = deque(maxlen=DEPARTED_KEPT)  # had a GPU and ended
        self._users: dict[int, Users] | None = None  # as long as nobody comes or goes
        self.host = HostWindow()
        self.host.node = self
        self.events: deque[KernelEvent] = deque(maxlen=EVENTS_KEPT)
        self.most_gpus = 0
        self._boot_id: str | None = None
        self._rebooted_at = 0.0  # when another boot than before was first seen
        self.expected_gpus: int | None = None
        self.clock_offset_seconds: float | None = None  # server clock minus agent clock
        self.maintenance_until: float | None = None
        self.allowed_workloads: tuple[str, ...] = ()
        self.workloads_declared = False
        self.pasted = False  # from text that a person sent, not from an agent
        self.log_readable = True  # the agent reads the kernel log; of pasted text: some is there
        self._gaps: dict[tuple[str, str], str] = {}

    # ---- folding in

    def add(self, snapshot: Snapshot, received_at: float | None = None) -> None:
        """Fold one snapshot in. Takes over the snapshot: its sample lists are released."""
        at = snapshot.taken_at
        seconds = self._period(snapshot)
        if at <= self.time and self.latest is not None:
            if at > self.time - 1.0:
                return  # the same moment again
            self._clock_went_back(at)
        self._note_boot(snapshot, at)
        self.time, self.latest = at, snapshot
        self.received_at = at if received_at is None else received_at
        self.started = self.started or at - seconds
        self.snapshots += 1
        self.pasted = snapshot.source == "pasted"
        agent = snapshot.agent
        self.log_readable = bool(agent.kernel_log_readable) if agent else True
        self._gaps = {(gap.subject, gap.metric): gap.reason for gap in snapshot.gaps}
        samples = _samples_in(snapshot)
        self._add_gpus(snapshot, at, seconds)
        self._add_processes(snapshot, at, seconds)
        self._add_engines(snapshot, at, seconds)
        self._add_host(snapshot, at, seconds, samples)
        for event in snapshot.events:
            self._add_event(event, at)

    def _period(self, snapshot: Snapshot) -> float:
        if snapshot.agent is not None:
            return snapshot.agent.interval_seconds
        if self.latest is None or snapshot.taken_at <= self.time:
            return 1.0
        return min(snapshot.taken_at - self.time, 60.0)

    def _clock_went_back(self, at: float) -> None:
        for table in self._tables():
            table.forget_from(at)
        self.rest()
        self.started = min(self.started, at)

    def _note_boot(self, snapshot: Snapshot, at: float) -> None:
        boot_id = snapshot.host.boot_id if snapshot.host else None
        if boot_id is not None:
            if self._boot_id not in (None, boot_id):
                self._rebooted_at = at
            self._boot_id = boot_id

    def _add_gpus(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        seen = {
            reading.uuid or reading.bus_id or f"index:{reading.index}": reading for reading in snapshot.gpus
        }
        new = [key for key in seen if key not in self.gpus]
        if new:
            tracks = self._gpu_table.seat([gpu.track for gpu in self.gpus.values()], len(new))
            for key, track in zip(new, tracks, strict=True):
                self.gpus[key] = GpuWindow(self, seen[key], track)
        if seen:
            gpus = [(self.gpus[key], reading) for key, reading in seen.items()]
            self._gpu_table.append(at, seconds, {gpu.track.slot: gpu.add(at, r) for gpu, r in gpus})
        if len(seen) < len(self.gpus):
            self._miss_gpus([key for key in self.gpus if key not in seen], snapshot)
        self.most_gpus = max(self.most_gpus, len(snapshot.gpus))

    def _miss_gpus(self, keys: list[str], snapshot: Snapshot) -> None:
        """Known GPUs that a snapshot does not carry: gone, unless the driver did not answer at all."""
        if snapshot.nvml is not None and snapshot.nvml.error is not None:
            return
        for key in keys:
            self.gpus[key].present = False
        if len(snapshot.gpus) >= self.most_gpus:  # other cards stand where those were before the boot
            self._forget_gpus({key for key in keys if self.gpus[key].last_seen < self._rebooted_at})
        if len(self.gpus) > GPUS_KEPT:
            gone = sorted((gpu.last_seen, key) for key, gpu in self.gpus.items() if not gpu.present)
            self._forget_gpus({key for _, key in gone[: len(self.gpus) - GPUS_KEPT]})

    def _forget_gpus(self, keys: set[str]) -> None:
        if not keys:
            return
        self.gpus = {key: gpu for key, gpu in self.gpus.items() if key not in keys}
        self._gpu_table.seat([gpu.track for gpu in self.gpus.values()])

    def _add_processes(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        seen = {(reading.pid, reading.started_at or 0.0): reading for reading in snapshot.processes}
        if seen.keys() != self.processes.keys():
            self._note_processes(seen)
        if seen:
            processes = [(self.processes[key], reading) for key, reading in seen.items()]
            self._process_table.append(at, seconds, {p.track.slot: p.add(at, r) for p, r in processes})
            if any(map(_changed, self.processes.values())):
                self.forget_users()
            self._largest_first()

    def _note_processes(self, seen: dict[tuple[int, float], ProcessReading]) -> None:
        """Some began or ended."""
        self.forget_users()
        here = {key: process for key, process in self.processes.items() if key in seen}
        new = [key for key in seen if key not in here]
        self.departed.extend(p for k, p in self.processes.items() if k not in here and p.reading.gpus)
        tracks = self._process_table.seat([process.track for process in here.values()], len(new))
        for key, track in zip(new, tracks, strict=True):
            here[key] = ProcessWindow(seen[key], track)
        self.processes = here

    def _add_engines(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        names: set[str] = set()
        before = list(self.engines.values())
        for reading in snapshot.engines:
            if reading.name in names:  # older agents call two pods' servers alike, by their port
                reading.name = f"{reading.name}:pid{reading.pid}"
            names.add(reading.name)
            engine = self.engines.get(reading.name)
            if engine is None or (reading.pid and engine.reading.pid and reading.pid != engine.reading.pid):
                engine = self.engines[reading.name] = EngineWindow(reading)
            engine.add(at, seconds, reading)
            if (reading.metrics_ok or reading.health_ok) and engine.served != engine.pids:
                self._note_served(engine)
        self.engines = {k: e for k, e in self.engines.items() if e.last_seen == at}
        engines = list(self.engines.values())
        if engines != before or any(map(_changed, engines)):
            self.forget_users()

    def _note_served(self, engine: EngineWindow) -> None:
        """Its processes got as far as to answer."""
        engine.served = engine.pids
        for process in self.processes.values():
            if process.reading.pid in engine.served:
                process.served = True

    def _add_host(self, snapshot: Snapshot, at: float, seconds: float, samples: int) -> None:
        host, nvml = snapshot.host, snapshot.nvml
        row = [getattr(host, name, None) for name in HOST_COLUMNS.values[:-3]]
        row.append(samples)
        row += (float(nvml.error is not None), nvml.sweep_seconds) if nvml else (None, None)
        self.host.add_ports(at, host)
        cells = [NAN if value is None else value for value in row]
        self.host.track.table.append(at, seconds, {0: cells})

    def _add_event(self, event: KernelEvent, at: float) -> None:
        if event.at is None:
            event.at = at
        if event.gpu is None and event.bus_id is not None:
            event.gpu = self.index_of_bus(event.bus_id)
        if len(self.events) == EVENTS_KEPT:
            self._make_room(event)
        self.events.append(event)

    def _make_room(self, event: KernelEvent) -> None:
        """Drop the oldest event of the same complaint: a flood of one must not push out another."""
        for i, known in enumerate(self.events):
            if (known.kind, known.number) == (event.kind, event.number):
                del self.events[i]
                return

    # ---- asking

    def index_of_bus(self, bus_id: str) -> int | None:
        """GPU index of a PCI address in any of its spellings."""
        wanted = bus_key(bus_id)
        for gpu in self.gpus.values():
            if gpu.reading.bus_id and bus_key(gpu.reading.bus_id) == wanted:
                return gpu.index
        return None

    @property
    def users(self) -> dict[int, Users]:
        """Who is on each GPU that somebody is on."""
        users = self._users
        if users is None:
            users = self._users = self._find_users()
            self._largest_first()
        return users

    def _find_users(self) -> dict[int, Users]:
        on: dict[int, list[ProcessWindow]] = {}  # by GPU
        of_pid: dict[int, set[int]] = {}  # GPUs
        for process in self.processes.values():
            gpus = process.gpus
            if gpus:
                of_pid.setdefault(process.reading.pid, set()).update(gpus)
                for gpu in gpus:
                    on.setdefault(gpu, []).append(process)
        engines: dict[int, list[EngineWindow]] = {}
        for engine in self.engines.values():
            named = set(engine.reading.gpus or ())
            for gpu in named.union(*(of_pid[pid] for pid in engine.pids if pid in of_pid)):
                engines.setdefault(gpu, []).append(engine)
        return {gpu: _users(on.get(gpu, []), engines.get(gpu, [])) for gpu in on.keys() | engines.keys()}

    def _largest_first(self) -> None:
        for gpu, users in (self._users or {}).items():
            if len(users.processes) > 1:
                users.processes.sort(key=partial(_size_on, gpu))
                if users.at_work is not users.processes:
                    users.at_work.sort(key=partial(_size_on, gpu))

    def forget_users(self) -> None:
        """Somebody came or went, or is another than before."""
        self._users = None
        for gpu in self.gpus.values():
            gpu.forget_users()

    def gpus_in_order(self) -> list[GpuWindow]:
        return sorted(self.gpus.values(), key=attrgetter("index"))

    def gap(self, subject: str, metric: str) -> str | None:
        """Why a metric is absent from the latest snapshot, or None when nobody said."""
        return self._gaps.get((subject, metric)) or self._gaps.get((subject, "*"))

    def recent_events(self, span: float, *kinds: str) -> list[KernelEvent]:
        """Kernel events of `kinds` within the last `span` seconds, oldest first."""
        since = self.time - span
        return [e for e in self.events if e.kind in kinds and (e.last_at or e.at or 0.0) > since]

    def age(self, now: float) -> float:
        """Seconds since the newest snapshot: by the server's receipt, not by the agent's clock."""
        return max(0.0, now - self.received_at)

    def hear_no_later_than(self, now: float) -> None:
        """A report of the future tells that the server's clock went back: silence is counted from now on."""
        if self.received_at > now:
            self.received_at = self.unheard_since = now

    def require_listening(self, now: float, span: float) -> None:
        """Raise NotMeasured where the server listens for less than `span`: it may be what was away."""
        if self.unheard_since is not None and now - self.unheard_since < span:
            wait_seconds = max(1.0, self.unheard_since + span - now)
            raise NotMeasured("reports", reason="too_short", wait_seconds=wait_seconds)

    @property
    def interval(self) -> float:
        agent = self.latest.agent if self.latest else None
        return agent.interval_seconds if agent else 10.0

    def span_of(self, snapshots: int) -> float:
        """Two minutes, or as long as so many snapshots take."""
        return max(W2, 1.2 * snapshots * self.interval)

    def covers(self, span: float) -> bool:
        return self.host.covers(span)

    def require(self, span: float) -> None:
        self.host.require(span)

    # ---- surviving a restart

    def pack(self) -> bytes:
        """The coarse levels and the GPUs that are missed, which a few recent snapshots do not tell."""
        gpus = sorted(self.gpus, key=lambda key: self.gpus[key].track.slot)
        levels = [[level.pack() for level in table.coarse] for table in self._kept_tables()]
        return msgspec.msgpack.encode([_layout(), gpus, levels, self._past()])

    def _past(self) -> _Past:
        unseen = [
            _Unseen(key, gpu.reading, gpu.last_seen, gpu.present)
            for key, gpu in self.gpus.items()
            if gpu.last_seen < self.time
        ]
        return _Past(self.most_gpus, self._boot_id, self._rebooted_at, unseen)

    def unpack(self, packed: bytes) -> None:
        """Restore what `pack` kept, for the GPUs this window knows and those that were missed.

        Raises OtherLayout, or ValueError.
        """
        layout, *rest = msgspec.msgpack.decode(packed)
        if layout != _layout():
            raise OtherLayout
        gpus, levels, *past = rest
        if past:  # versions before did not pack it
            self._remember(msgspec.convert(past[0], _Past))
        ours = sorted(self.gpus, key=lambda key: self.gpus[key].track.slot)
        sources = [gpus.index(key) if key in gpus else None for key in ours]
        host, of_gpus = self._kept_tables()
        if levels[0]:
            host.prepend(levels[0], 1, [0])
        if levels[1]:
            of_gpus.prepend(levels[1], len(gpus), sources)
        self.rest()

    def _remember(self, past: _Past) -> None:
        """Miss the GPUs that were missed: a restart of the server brings none of them back."""
        self.most_gpus = max(self.most_gpus, past.most_gpus)
        if self._boot_id is None:
            self._boot_id = past.boot_id
        elif past.boot_id not in (None, self._boot_id):
            self._rebooted_at = self._rebooted_at or self.started
        self._rebooted_at = max(self._rebooted_at, past.rebooted_at)
        missed = [each for each in past.unseen if each.key not in self.gpus]
        tracks = self._gpu_table.seat([gpu.track for gpu in self.gpus.values()], len(missed))
        for each, track in zip(missed, tracks, strict=True):
            gpu = self.gpus[each.key] = GpuWindow(self, each.reading, track)
            gpu.first_seen = gpu.last_seen = each.last_seen
            gpu.present = each.present

    @property
    def due_gpus(self) -> int:
        """How many GPUs should be here: as declared, else the most that were seen."""
        return self.most_gpus if self.expected_gpus is None else self.expected_gpus

    def _kept_tables(self) -> tuple[Table, Table]:
        return self.host.track.table, self._gpu_table

    def _tables(self) -> Iterator[Table]:
        yield from (self._gpu_table, self._process_table, self.host.track.table)
        for engine in self.engines.values():
            yield engine.track.table

    def rest(self) -> None:
        """Give back what was remembered while this node was judged."""
        for table in self._tables():
            table.rest()
        for engine in self.engines.values():
            engine.rest()

    def end(self) -> None:
        """Nobody asks it any more: its parts know it no longer, so that its memory is free at once."""
        self.gpus = {}
        self.host.node = None


def _layout() -> bytes:
    """What packed rows mean: rows of another version, or in other steps, are not read as ours."""
    kept = [(columns.coarse, columns.resolutions) for columns in (HOST_COLUMNS, GPU_COLUMNS)]
    tables = [(coarse.at, coarse.scales, rows) for coarse, rows in kept if coarse]
    return msgspec.msgpack.encode(["column by column", *tables])


def _users(processes: list[ProcessWindow], engines: list[EngineWindow]) -> Users:
    kinds = frozenset([process.workload.kind for process in processes])
    at_rest = not kinds.isdisjoint(AT_REST)
    at_work = [p for p in processes if p.workload.kind not in AT_REST] if at_rest else processes
    return Users(processes, engines, kinds, at_work)


_changed = attrgetter("changed")


def _size_on(gpu: int, process: ProcessWindow) -> tuple[int, int]:
    return -(process.memory_on(gpu) or 0), process.reading.pid


def _samples_in(snapshot: Snapshot) -> int:
    """How many moments a snapshot tells of: its samples, or itself."""
    lists = (gpu.samples.utilization_percent for gpu in snapshot.gpus if gpu.samples)
    return max((len(values) for values in lists if values), default=1)


def bus_key(bus_id: str) -> str:
    """A PCI address without leading zeros of its domain and without its function: `0:c7:0`."""
    parts = bus_id.lower().split(".")[0].split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    return ":".join(part.lstrip("0") or "0" for part in parts)
