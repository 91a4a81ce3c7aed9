"""What one process did since the last look: CPU, bytes read, its hottest threads and children, its quota."""

from __future__ import annotations

import os

from gpudiag.agent.files import TICKS, Stat, numbers, raw, stat_of, text
from gpudiag.agent.host import pressure
from gpudiag.agent.masking import printable
from gpudiag.model import ProcessReading, ThreadReading

PAGE = os.sysconf("SC_PAGE_SIZE")
BUSY_PERCENT = 5.0  # below this a process has no hot thread worth a look
THREADS_TOLD = 3
THREADS_KNOWN = 16  # looked at between two full rounds
FULL_ROUND_SECONDS = 30.0
MOST_CHILDREN = 64


class Activity:
    """What is kept of one process between two looks, for rates."""

    def __init__(self, proc: str, sys: str) -> None:
        self._proc, self._sys = proc, sys
        self._at: float | None = None
        self._cpu = 0
        self._io: tuple[int, int] | None = None
        self._threads: dict[int, tuple[int, float]] = {}  # tid → ticks, and when they were read
        self._hot: list[int] = []
        self._children: dict[int, tuple[int, float]] = {}
        self._full_round_at = 0.0
        self._throttled: int | None = None

    def read(self, reading: ProcessReading, stat: Stat, cgroup: str | None, monotonic: float) -> None:
        """Puts into `reading` what the process did since the last time."""
        place = f"{self._proc}/{reading.pid}"
        span = monotonic - self._at if self._at is not None else 0.0
        reading.resident_bytes = _resident(place)
        if span > 0:
            reading.cpu_percent = round(100 * (stat.cpu - self._cpu) / TICKS / span, 1)
        self._read_io(reading, place, span)
        self._read_threads(reading, stat, place, monotonic)
        self._read_children(reading, place, monotonic)
        self._read_quota(reading, cgroup, span)
        self._at, self._cpu = monotonic, stat.cpu

    def _read_io(self, reading: ProcessReading, place: str, span: float) -> None:
        io = _io(raw(f"{place}/io"))
        if io is not None and self._io is not None and span > 0:
            read, written = (max(0, new - old) / span for new, old in zip(io, self._io, strict=True))
            reading.read_bytes_per_second = round(read)
            reading.write_bytes_per_second = round(written)
        self._io = io

    def _read_threads(self, reading: ProcessReading, stat: Stat, place: str, monotonic: float) -> None:
        """The three busiest threads. All are looked at now and then, in between those that were busy."""
        if reading.cpu_percent is not None and reading.cpu_percent < BUSY_PERCENT and stat.state != "D":
            self._threads.clear()
            self._hot = []
            reading.threads = []
            return
        whole = not self._hot or monotonic - self._full_round_at >= FULL_ROUND_SECONDS
        readings: list[ThreadReading] = []
        seen: dict[int, tuple[int, float]] = {}
        for tid in numbers(f"{place}/task") if whole else self._hot:
            thread = stat_of(f"{place}/task/{tid}/stat")
            if thread is None:
                continue
            seen[tid] = (thread.cpu, monotonic)
            ticks, at = self._threads.get(tid, (0, monotonic))
            percent = (
                round(100 * (thread.cpu - ticks) / TICKS / (monotonic - at), 1) if monotonic > at else None
            )
            readings.append(
                ThreadReading(tid=tid, name=printable(thread.name), cpu_percent=percent, state=thread.state)
            )
        self._threads = seen if whole else {**self._threads, **seen}
        self._tell_hottest(reading, readings, place)
        if whole and self._hot:
            self._full_round_at = monotonic

    def _tell_hottest(self, reading: ProcessReading, readings: list[ThreadReading], place: str) -> None:
        rated = [thread for thread in readings if thread.cpu_percent is not None]
        rated.sort(key=lambda thread: -(thread.cpu_percent or 0.0))
        self._hot = [thread.tid for thread in rated[:THREADS_KNOWN]]
        for thread in rated[:THREADS_TOLD]:
            if thread.state == "D":
                thread.wait_channel = wait_channel(f"{place}/task/{thread.tid}")
        reading.threads = rated[:THREADS_TOLD] or None

    def _read_children(self, reading: ProcessReading, place: str, monotonic: float) -> None:
        """The busiest child processes: data loader workers do the work that a GPU waits for."""
        listed = text(f"{place}/task/{reading.pid}/children")
        if not listed:
            self._children = {}
            return
        seen: dict[int, tuple[int, float]] = {}
        found: list[ThreadReading] = []
        for pid in [int(word) for word in listed.split()[:MOST_CHILDREN]]:
            child = stat_of(f"{self._proc}/{pid}/stat")
            if child is None:
                continue
            seen[pid] = (child.cpu, monotonic)
            ticks, at = self._children.get(pid, (0, monotonic))
            if monotonic > at:
                percent = round(100 * (child.cpu - ticks) / TICKS / (monotonic - at), 1)
                name = printable(child.name)
                found.append(ThreadReading(tid=pid, name=name, cpu_percent=percent, state=child.state))
        self._children = seen
        found.sort(key=lambda child: -(child.cpu_percent or 0.0))
        reading.children = found[:THREADS_TOLD] or None

    def _read_quota(self, reading: ProcessReading, cgroup: str | None, span: float) -> None:
        if cgroup is None or cgroup == "/":
            return
        group = f"{self._sys}/fs/cgroup{cgroup}"
        throttled = _counter(f"{group}/cpu.stat", "throttled_usec")
        if throttled is not None and self._throttled is not None and span > 0:
            share = (throttled - self._throttled) / 1e6 / span
            reading.cpu_quota_throttled_ratio = round(max(0.0, share), 4)
        self._throttled = throttled
        reading.cpu_pressure_some = pressure(f"{group}/cpu.pressure", "some")
        reading.oom_kills = _counter(f"{group}/memory.events", "oom_kill")


def wait_channel(place: str) -> str | None:
    """The kernel function in which a process or thread sleeps; None while it does not."""
    channel = text(f"{place}/wchan")
    return channel if channel and channel != "0" else None


def _resident(place: str) -> int | None:
    fields = (text(f"{place}/statm") or "").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else None


def _io(content: bytes | None) -> tuple[int, int] | None:
    """Bytes read from and written to storage: what the page cache answered does not count."""
    if not content:
        return None
    read = written = 0
    for line in content.splitlines():
        if line.startswith(b"read_bytes:"):
            read = int(line[11:])
        elif line.startswith(b"write_bytes:"):
            written = int(line[12:])
    return read, written


def _counter(path: str, name: str) -> int | None:
    for line in (text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None
