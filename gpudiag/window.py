"""A node's recent past, kept as running statistics.

`Window.add(snapshot)` folds a snapshot into small float arrays; asking for a mean, a share or a rise over
some span then costs the same whatever the interval or the fleet. Asking for a metric that the samples do
not carry raises `NotMeasured`, which the judge turns into *cannot tell*: rule code needs no `None` checks.

Pure: no I/O, no clock. Times are Unix seconds, spans are seconds.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from gpudiag.model import (
    CLOCKS_EVENT,
    EngineReading,
    GpuReading,
    HostReading,
    KernelEvent,
    ProcessReading,
    Snapshot,
)
from gpudiag.workloads import Workload, workload_of

W2, W5, W15, W30 = 120.0, 300.0, 900.0, 1800.0
W6H, W24H, W7D = 21_600.0, 86_400.0, 604_800.0

NAN = math.nan
ENOUGH = 0.8  # share of a span that samples must cover before a pattern over it is judged
FEWEST = 10  # samples
QUIET_PERCENT = 1.0
SPINNING_PERCENT = 95.0
EVENTS_KEPT = 200
DEPARTED_KEPT = 32


class NotMeasured(Exception):
    """The samples do not carry what was asked for; `missing` names it."""

    def __init__(self, *missing: str, reason: str | None = None, wait_seconds: float | None = None) -> None:
        super().__init__(", ".join(missing))
        self.missing = list(missing)
        self.reason = reason
        self.wait_seconds = wait_seconds


class Stats:
    """One metric over one span: `n` rows, `seconds` from the first to the last; extremes on demand."""

    __slots__ = ("_high", "_low", "_values", "mean", "n", "seconds")

    def __init__(
        self,
        values: array[float],
        mean: float,
        seconds: float,
        low: array[float] | None = None,
        high: array[float] | None = None,
    ) -> None:
        self._values, self.mean, self.seconds = values, mean, seconds
        self._low: array[float] | float | None = low
        self._high: array[float] | float | None = high
        self.n = len(values)

    @property
    def min(self) -> float:
        """The lowest sample, not the lowest row."""
        low = self._low
        if not isinstance(low, float):
            low = self._low = min(self._values if low is None else low)
        return low

    @property
    def max(self) -> float:
        high = self._high
        if not isinstance(high, float):
            high = self._high = max(self._values if high is None else high)
        return high

    def settle(self) -> None:
        """Let go of the rows: what they say is kept."""
        if len(self._values) > 2:
            self._low, self._high = self.min, self.max
            self._values = array("f", [self.first, self.last])

    @property
    def first(self) -> float:
        """Mean of the oldest row."""
        return self._values[0]

    @property
    def last(self) -> float:
        return self._values[-1]


# ------------------------------------------------------------------------------------------ tracks


class Columns:
    """Which numbers a track keeps of each snapshot: gauges as mean, minimum and maximum, values as one.

    `kept` gauges and values go on into the coarse levels.
    """

    def __init__(self, gauges: tuple[str, ...], values: tuple[str, ...], kept: tuple[str, ...] = ()) -> None:
        self.gauges, self.values = gauges, values
        self.at = {name: 3 * i for i, name in enumerate(gauges)}
        self.at |= {name: 3 * len(gauges) + i for i, name in enumerate(values)}
        self.width = 3 * len(gauges) + len(values)
        self.is_gauge = frozenset(gauges)
        self.coarse: Columns | None = None
        if kept:
            self.coarse = Columns(
                tuple(g for g in gauges if g in kept), tuple(v for v in values if v in kept), ()
            )


# What a level without rows holds: never added to. Most levels of most processes stay empty.
_NOTHING, _NO_CELLS = array("d"), array("f")


class Level:
    """Rows of one resolution, oldest first, at most `rows` of them."""

    __slots__ = ("at", "cells", "columns", "rows", "seconds")

    def __init__(self, columns: Columns, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.at, self.seconds, self.cells = _NOTHING, _NO_CELLS, _NO_CELLS

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        if self.at is _NOTHING:
            self.at, self.seconds, self.cells = array("d"), array("f"), array("f")
        self.at.append(at)
        self.seconds.append(seconds)
        self.cells.extend(row)
        if len(self.at) > self.rows:
            del self.at[0]
            del self.seconds[0]
            del self.cells[: self.columns.width]

    def prepend(self, at: bytes, seconds: bytes, cells: bytes) -> None:
        """Put older rows, as bytes, before those that are there; what overlaps gives way."""
        old = Level(self.columns, self.rows)
        old.at, old.seconds, old.cells = array("d", at), array("f", seconds), array("f", cells)
        if self.at:
            old.forget_from(self.at[0])
        width = self.columns.width
        for i, moment in enumerate(self.at):
            old.append(moment, self.seconds[i], self.cells[i * width : (i + 1) * width])
        self.at, self.seconds, self.cells = old.at, old.seconds, old.cells

    def first_after(self, at: float) -> int:
        return bisect_right(self.at, at)

    def first_within(self, span: float) -> int:
        """Index of the oldest row within the last `span` seconds."""
        return bisect_right(self.at, self.at[-1] - span + 1e-6)

    def column(self, offset: int, first: int = 0) -> array[float]:
        width = self.columns.width
        return self.cells[first * width + offset :: width]

    def forget_from(self, at: float) -> None:
        """Drop rows at or after `at` (the clock went back)."""
        keep = bisect_right(self.at, at - 1e-6)
        del self.at[keep:]
        del self.seconds[keep:]
        del self.cells[keep * self.columns.width :]


COARSE_LEVELS = ((60.0, 60), (900.0, 48), (86_400.0, 7))  # seconds a row, rows
FINE_ROWS = 30


class Track:
    """The past of one subject (a GPU, a process, an engine, the host) at four resolutions."""

    __slots__ = ("_cache", "_covered", "_long", "coarse", "columns", "fine")

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.fine = Level(columns, FINE_ROWS)
        self.coarse: list[Level] = []  # made when the first row is due: most processes end before
        self._cache: dict[tuple[str, float], Stats | None] = {}  # until the next snapshot
        self._covered: dict[float, tuple[int, float]] = {}  # as _cache
        self._long: dict[tuple[str, float], Stats] = {}  # from coarse rows: until one of them is added

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        if self.fine.at and self.columns.coarse:
            self._roll_up(at)
        self.fine.append(at, seconds, row)
        self._cache.clear()
        self._covered.clear()

    def _roll_up(self, now: float) -> None:
        """Close each coarse row whose period has ended, from the rows of the next finer level."""
        finer = self.fine
        if not self.coarse:
            if finer.at[-1] // COARSE_LEVELS[0][0] == now // COARSE_LEVELS[0][0]:
                return
            self.coarse = self.coarse_levels()
        for (seconds, _), level in zip(COARSE_LEVELS, self.coarse, strict=True):
            period = finer.at[-1] // seconds
            if now // seconds == period:
                return
            first = finer.first_after(period * seconds - 1e-6)
            if first >= len(finer.at):
                return
            self._long.clear()
            level.append(finer.at[-1], sum(finer.seconds[first:]), _combine(finer, first, level.columns))
            finer = level

    def coarse_levels(self) -> list[Level]:
        """Empty levels, one of each coarse resolution."""
        kept = self.columns.coarse
        return [Level(kept, rows) for _, rows in COARSE_LEVELS] if kept else []

    def prepend(self, rows: list[tuple[bytes, bytes, bytes]]) -> None:
        """Put packed coarse rows before those that are there."""
        self.coarse = self.coarse or self.coarse_levels()
        for level, (at, seconds, cells) in zip(self.coarse, rows, strict=True):
            level.prepend(at, seconds, cells)
        self._cache.clear()
        self._covered.clear()
        self._long.clear()

    def rest(self) -> None:
        """Give back what was remembered for questions: few are asked between two judgements."""
        self._cache.clear()
        self._covered.clear()
        for stats in self._long.values():
            stats.settle()

    def forget_from(self, at: float) -> None:
        for level in (self.fine, *self.coarse):
            level.forget_from(at)
        self._cache.clear()
        self._covered.clear()
        self._long.clear()

    def over(self, name: str, span: float) -> Stats:
        """Statistics of `name` over the last `span` seconds. Raises NotMeasured when no row carries it."""
        key = (name, span)
        stats = self._cache.get(key) or self._long.get(key)
        if stats is None:
            if key not in self._cache:
                stats = self._cache[key] = self._stats(name, span)
            if stats is None:
                raise NotMeasured(name)
        return stats

    def _stats(self, name: str, span: float) -> Stats | None:
        levels = (self.fine,) if span <= W5 else self._levels(name, span)
        for level in levels:
            if not level.at:
                continue
            stats = _summary(level, name, level.first_within(span))
            if stats is not None:
                if level is not self.fine:
                    self._long[name, span] = stats
                return stats
        return None

    def _levels(self, name: str, span: float) -> list[Level]:
        fine_span = self.fine.at[-1] - self.fine.at[0] if self.fine.at else 0.0
        if not self.coarse or span <= max(fine_span, W5) or name not in self.coarse[0].columns.at:
            return [self.fine]
        for (seconds, rows), level in zip(COARSE_LEVELS, self.coarse, strict=True):
            if span <= seconds * rows and level.at:
                return [level, self.fine]
        return [*(level for level in reversed(self.coarse) if level.at), self.fine]

    def series(self, name: str, span: float) -> list[tuple[float, float]]:
        """(time, value) rows for charts and trends: the finest level that reaches back `span`."""
        for level in self._levels(name, span):
            if level.at:
                first = level.first_within(span)
                values = level.column(level.columns.at[name], first)
                return [(t, v) for t, v in zip(level.at[first:], values, strict=True) if v == v]
        return []

    def seconds_covered(self, span: float) -> tuple[int, float]:
        """(rows, seconds) that samples cover within the last `span`."""
        covered = self._covered.get(span)
        if covered is None:
            covered = self._covered[span] = self._seconds_covered(span)
        return covered

    def _seconds_covered(self, span: float) -> tuple[int, float]:
        rows = self.fine if span <= W5 or not self.coarse or not self.coarse[0].at else None
        if rows is None:
            rows = next(
                (
                    level
                    for (seconds, count), level in zip(COARSE_LEVELS, self.coarse, strict=True)
                    if span <= seconds * count and level.at
                ),
                self.coarse[0],
            )
        if not rows.at:
            return 0, 0.0
        first = rows.first_within(span)
        return len(rows.at) - first, sum(rows.seconds[first:])


def _summary(level: Level, name: str, first: int) -> Stats | None:
    """Statistics of one column from row `first` on; None when no row carries it."""
    columns = level.columns
    width, gauge = columns.width, name in columns.is_gauge
    start = first * width + columns.at[name]
    cells = level.cells
    values = cells[start::width]
    total = sum(values)
    low = cells[start + 1 :: width] if gauge else None
    high = cells[start + 2 :: width] if gauge else None
    if total != total:  # a NaN: some row does not carry the value
        values = _known(values)
        if not values:
            return None
        total = sum(values)
        if low is not None and high is not None:
            low, high = _known(low), _known(high)
    elif not values:
        return None
    at = level.at
    return Stats(values, total / len(values), at[-1] - at[first] + level.seconds[first], low, high)


def _known(values: array[float]) -> array[float]:
    return array("f", [value for value in values if value == value])


def _combine(finer: Level, first: int, columns: Columns) -> array[float]:
    row = array("f", [NAN]) * columns.width
    for name, target in columns.at.items():
        stats = _summary(finer, name, first)
        if stats is not None:
            row[target] = stats.mean
            if name in columns.is_gauge:
                row[target + 1], row[target + 2] = stats.min, stats.max
    return row


# ---------------------------------------------------------------------------- folding of snapshots

GPU_GAUGES = (
    "utilization_percent",
    "memory_used_bytes",
    "power_watts",
    "sm_clock_megahertz",
    "temperature_celsius",
    "memory_utilization_percent",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
)
GPU_SLOW = (
    "sm_active_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "encoder_percent",
    "decoder_percent",
    "pcie_link_generation",
    "pcie_link_width",
    "temperature_margin_celsius",
    "temperature_memory_celsius",
    "nvlink_bytes_per_second",
    "nvlinks_active",
    "fan_percent",
)
GPU_USUAL = (  # what later samples are compared with: only rows in which the GPU worked, or was quiet
    "busy_sm_clock_megahertz",
    "busy_power_watts",
    "idle_power_watts",
)
BUSY_PERCENT = 80.0
GPU_RISES = (  # fast counters: their increase since the snapshot before
    "throttle_power_nanoseconds",
    "throttle_hw_thermal_nanoseconds",
    "throttle_sw_thermal_nanoseconds",
    "throttle_power_brake_nanoseconds",
)
GPU_SHARES = ("quiet", "spinning", *CLOCKS_EVENT)  # share of the samples for which it holds
GPU_KEPT = (*GPU_GAUGES[:5], "quiet", "spinning", "nvlinks_active", "temperature_margin_celsius", *GPU_USUAL)
GPU_COLUMNS = Columns(GPU_GAUGES, (*GPU_SLOW, *GPU_USUAL, *GPU_RISES, *GPU_SHARES), GPU_KEPT)

GPU_COUNTERS = (  # slow counters: the moments at which they rose
    "ecc_corrected_volatile",
    "ecc_uncorrected_volatile",
    "remapped_rows_uncorrectable",
    "remapped_rows_correctable",
    "retired_pages_double_bit",
    "pcie_replay_count",
    "pcie_fatal_errors",
    "pcie_nonfatal_errors",
    "nvlink_crc_errors",
    "nvlink_replay_errors",
    "nvlink_recovery_errors",
)

ENGINE_RISES = (
    "prompt_tokens_total",
    "generation_tokens_total",
    "requests_finished_total",
    "preemptions_total",
    "prefix_queries_total",
    "prefix_hits_total",
)
ENGINE_COLUMNS = Columns(
    ("requests_running", "requests_waiting", "kv_used_ratio"),
    (*ENGINE_RISES, "first_token_seconds_p95", "inter_token_seconds_p95", "answered", "loaded", "waits"),
    ("requests_running", "requests_waiting", "generation_tokens_total", "first_token_seconds_p95"),
)

PROCESS_COLUMNS = Columns(
    (),
    (
        "cpu_percent",
        "hottest_thread_percent",
        "next_thread_percent",
        "memory_used_bytes",
        "sm_percent",
        "read_bytes_per_second",
        "write_bytes_per_second",
        "uninterruptible",
        "cpu_quota_throttled_ratio",
    ),
    ("cpu_percent", "memory_used_bytes", "sm_percent"),
)

HOST_COLUMNS = Columns(
    (),
    (
        "cpu_percent",
        "iowait_percent",
        "load_1min",
        "cpu_pressure_some",
        "io_pressure_full",
        "memory_pressure_full",
        "swap_in_pages_per_second",
        "disk_busy_ratio",
        "memory_available_bytes",
        "nvml_failed",
        "nvml_sweep_seconds",
    ),
    ("cpu_percent", "nvml_sweep_seconds"),
)

EVENT_BITS = tuple(CLOCKS_EVENT.values())
_EVENT_SHARES: dict[int, tuple[float, ...]] = {}


def _event_shares(mask: int) -> tuple[float, ...]:
    shares = _EVENT_SHARES.get(mask)
    if shares is None:
        shares = tuple(1.0 if mask & bit else 0.0 for bit in EVENT_BITS)
        if len(_EVENT_SHARES) < 4096:
            _EVENT_SHARES[mask] = shares
    return shares


def _mean_min_max(samples: list[Any] | None, latest: float | None) -> tuple[float, float, float]:
    """Of the samples, or of the latest value where there are none; NaN where neither is known."""
    if samples:
        first = samples[0]
        if first is not None and samples.count(first) == len(samples):
            return first, first, first
        try:
            return sum(samples) / len(samples), min(samples), max(samples)
        except TypeError:  # a None among them
            known = [value for value in samples if value is not None]
            if known:
                return sum(known) / len(known), min(known), max(known)
    if latest is None:
        return NAN, NAN, NAN
    return latest, latest, latest


def _share(samples: list[Any] | None, low: float, high: float, latest: float | None) -> float:
    known = [value for value in samples or (latest,) if value is not None]
    return sum(low <= value <= high for value in known) / len(known) if known else NAN


# One call for many fields: reading them one by one costs more than all the arithmetic.
_gauges, _slow = attrgetter(*GPU_GAUGES), attrgetter(*GPU_SLOW)
_rising, _counters = attrgetter(*GPU_RISES), attrgetter(*GPU_COUNTERS)
_NO_SAMPLES = (None,) * len(GPU_GAUGES)
_NO_COUNTERS = (None,) * len(GPU_COUNTERS)
_NO_RISES = (NAN,) * len(GPU_RISES)
_NO_RISE = (None,) * len(GPU_RISES)


def _gpu_row(gpu: GpuReading, before: GpuReading | None) -> array[float]:
    samples = gpu.samples
    cells = _gauge_cells(_gauges(samples) if samples else _NO_SAMPLES, gpu)
    cells += [NAN if value is None else value for value in _slow(gpu)]
    cells += _usual(cells)
    cells += _rises(gpu, before)
    low, high = cells[1], cells[2]
    if high <= QUIET_PERCENT:
        cells += (1.0, 0.0)
    elif low >= SPINNING_PERCENT:
        cells += (0.0, 1.0)
    else:
        series, latest = (samples.utilization_percent if samples else None), gpu.utilization_percent
        cells.append(_share(series, 0, QUIET_PERCENT, latest))
        cells.append(_share(series, SPINNING_PERCENT, math.inf, latest))
    cells += _event_row(samples.clocks_event_reasons if samples else None, gpu.clocks_event_reasons)
    return array("f", cells)


def _gauge_cells(series: tuple[Any, ...], gpu: GpuReading) -> list[float]:
    """Mean, minimum and maximum of every gauge."""
    cells: list[float] = []
    if None not in series:
        try:
            for total, low, high, n in zip(
                map(sum, series), map(min, series), map(max, series), map(len, series), strict=True
            ):
                cells += (total / n, low, high)
            return cells
        except (TypeError, ValueError):  # a None among the samples, or none at all
            cells = []
    for samples, latest in zip(series, _gauges(gpu), strict=True):
        cells += _mean_min_max(samples, latest)
    return cells


def _rises(gpu: GpuReading, before: GpuReading | None) -> Iterable[float]:
    if before is None:
        return _NO_RISES
    now, then = _rising(gpu), _rising(before)
    if now == _NO_RISE:
        return _NO_RISES
    return map(_rise, now, then)


def _throttled(gpu: GpuReading, before: GpuReading | None) -> bool:
    if before is not None and any(rise > 0 for rise in _rises(gpu, before)):
        return True
    masks = (gpu.samples.clocks_event_reasons if gpu.samples else None) or [gpu.clocks_event_reasons]
    if masks.count(masks[0]) == len(masks):
        return bool(masks[0] and masks[0] & ~_IDLE)
    return any(mask is not None and mask & ~_IDLE for mask in masks)


_IDLE = CLOCKS_EVENT["gpu_idle"]


def _usual(cells: list[float]) -> tuple[float, float, float]:
    """Clock and power of a busy row, power of a quiet one; NaN for the others."""
    clock, watts = cells[3 * _CLOCK], cells[3 * _POWER]
    if cells[0] >= BUSY_PERCENT:
        return clock, watts, NAN
    return (NAN, NAN, watts) if cells[2] <= QUIET_PERCENT else (NAN, NAN, NAN)


_CLOCK, _POWER = GPU_GAUGES.index("sm_clock_megahertz"), GPU_GAUGES.index("power_watts")


def _event_row(samples: list[int | None] | None, latest: int | None) -> Iterable[float]:
    masks = [mask for mask in samples or (latest,) if mask is not None]
    if not masks:
        return (NAN,) * len(EVENT_BITS)
    if masks.count(masks[0]) == len(masks):
        return _event_shares(masks[0])
    rows = [_event_shares(mask) for mask in masks]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def _rise(value: float | None, before: float | None) -> float:
    """Increase of a counter; one that went backwards has restarted and counts from zero."""
    if value is None or before is None:
        return NAN
    return value - before if value >= before else value


# ---------------------------------------------------------------------------------------- subjects


class Subject:
    """What a rule asks: `now` (the latest value), `over` (statistics), `covers` (is there enough?)."""

    prefix = ""

    def __init__(self, track: Track) -> None:
        self.track = track

    def over(self, name: str, span: float) -> Stats:
        """Statistics of `name` over the last `span` seconds; raises NotMeasured."""
        return self.track.over(name, span)

    def share(self, condition: str, span: float) -> float:
        """Share (0 to 1) of the samples of the last `span` with `condition`; raises NotMeasured."""
        return self.track.over(condition, span).mean

    def rise(self, name: str, span: float) -> float:
        """How much a counter rose within the last `span`; raises NotMeasured."""
        stats = self.track.over(name, span)
        return stats.mean * stats.n

    def covers(self, span: float) -> bool:
        """Whether samples cover enough of the last `span` seconds to judge a pattern over it."""
        rows, seconds = self.track.seconds_covered(span)
        enough = FEWEST if span <= W5 else 1
        return seconds >= ENOUGH * span and rows >= min(enough, ENOUGH * span / 10)

    def require(self, span: float) -> None:
        """Raise NotMeasured when samples do not cover `span`: the pattern needs more time."""
        if not self.covers(span):
            _, seconds = self.track.seconds_covered(span)
            raise NotMeasured(
                "samples", reason="too_short", wait_seconds=max(10.0, math.ceil(ENOUGH * span - seconds))
            )


class GpuWindow(Subject):
    """One GPU over time. `reading` is the latest one, which stays when the GPU is gone."""

    def __init__(self, node: Window, reading: GpuReading) -> None:
        super().__init__(Track(GPU_COLUMNS))
        self.node = node
        self.reading = reading
        self.present = True
        self.first_seen = self.last_seen = 0.0
        self.throttled_at: float | None = None
        self._rises: dict[str, list[tuple[float, float]]] = {}
        self._before: GpuReading | None = None

    @property
    def index(self) -> int:
        return self.reading.index

    @property
    def unread(self) -> bool:
        """The newest snapshot does not carry it, because the driver did not answer: it may still be there."""
        return self.present and self.last_seen < self.node.time

    def add(self, at: float, seconds: float, reading: GpuReading) -> None:
        before = self._before
        self.track.append(at, seconds, _gpu_row(reading, before))
        if _throttled(reading, before):
            self.throttled_at = at
        counters, counted = _counters(reading), _counters(before) if before is not None else None
        if counters != (counted or _NO_COUNTERS):
            for name, value, then in zip(GPU_COUNTERS, counters, counted or _NO_COUNTERS, strict=True):
                if value is not None:
                    self._count(name, at, value, then)
        reading.samples = None  # they live in the track from now on
        self.reading = self._before = reading
        self.present, self.last_seen = True, at
        self.first_seen = self.first_seen or at

    def _count(self, name: str, at: float, value: float, before: float | None) -> None:
        rises = self._rises.get(name)
        if rises is None:
            self._rises[name] = []  # known from now on; what it counted earlier is not ours to time
        elif before is not None and value != before:
            rises.append((at, value - before if value > before else value))
            del rises[:-50]

    def now(self, name: str) -> Any:
        """The latest value of a metric; raises NotMeasured with the reason the agent gave."""
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(name, reason=self.node.gap(f"gpu:{self.index}", name))
        return value

    def over(self, name: str, span: float) -> Stats:
        try:
            return self.track.over(name, span)
        except NotMeasured:
            raise NotMeasured(name, reason=self.node.gap(f"gpu:{self.index}", name)) from None

    def throttled_within(self, span: float) -> bool:
        """Whether a reason other than idling held the clocks within the last `span`; raises NotMeasured."""
        if self.throttled_at is None:
            self.now("clocks_event_reasons")
            return False
        return self.node.time - self.throttled_at < span

    def rise(self, name: str, span: float) -> float:
        if name in GPU_COLUMNS.at:
            return super().rise(name, span)
        rises = self._rises.get(name)
        if rises is None:
            raise NotMeasured(name, reason=self.node.gap(f"gpu:{self.index}", name))
        since = self.node.time - span
        return sum(amount for at, amount in rises if at > since)

    def rises(self, name: str, span: float) -> list[tuple[float, float]]:
        """(time, amount) of a slow counter's increases within the last `span` seconds; raises NotMeasured."""
        rises = self._rises.get(name)
        if rises is None:
            raise NotMeasured(name, reason=self.node.gap(f"gpu:{self.index}", name))
        since = self.node.time - span
        return [(at, amount) for at, amount in rises if at > since]

    def last_rise_at(self, name: str) -> float | None:
        rises = self._rises.get(name)
        return rises[-1][0] if rises else None

    # ---- who is on it

    @property
    def processes(self) -> list[ProcessWindow]:
        """Processes that use this GPU or hold it open, the largest first."""
        return self.node.users_of(self.index).processes

    @property
    def engines(self) -> list[EngineWindow]:
        """Inference engines whose processes are on this GPU."""
        return self.node.users_of(self.index).engines

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the programs on it, see `gpudiag.workloads`."""
        return self.node.users_of(self.index).kinds

    @property
    def workloads(self) -> list[Workload]:
        return [process.workload for process in self.processes]

    @property
    def used_share(self) -> float:
        """Memory used, as a share of the total; raises NotMeasured."""
        return self.now("memory_used_bytes") / self.now("memory_total_bytes")


class ProcessWindow(Subject):
    """One process over time; the same pid with another start time is another process."""

    def __init__(self, reading: ProcessReading) -> None:
        super().__init__(Track(PROCESS_COLUMNS))
        self.reading = reading
        self.last_seen = 0.0
        self.first_seen = 0.0
        self.workload = workload_of(reading)

    def add(self, at: float, seconds: float, reading: ProcessReading) -> None:
        threads = [t.cpu_percent for t in reading.threads or () if t.cpu_percent is not None]
        still = 0.0 if reading.threads == [] else None  # looked at, and none is busy
        uses = reading.gpus or ()
        memory = [use.memory_used_bytes for use in uses if use.memory_used_bytes is not None]
        sm = [use.sm_percent for use in uses if use.sm_percent is not None]
        row = (
            reading.cpu_percent,
            threads[0] if threads else still,
            threads[1] if len(threads) > 1 else (0.0 if threads else still),
            sum(memory) if memory else None,
            sum(sm) if sm else None,
            reading.read_bytes_per_second,
            reading.write_bytes_per_second,
            None if reading.state is None else float(reading.state == "D"),
            reading.cpu_quota_throttled_ratio,
        )
        self.track.append(at, seconds, array("f", [NAN if v is None else v for v in row]))
        if reading.command != self.reading.command or reading.frameworks != self.reading.frameworks:
            self.workload = workload_of(reading)
        self.reading, self.last_seen = reading, at
        self.first_seen = self.first_seen or at

    def is_on(self, gpu: int) -> bool:
        if any(use.gpu == gpu for use in self.reading.gpus or ()):
            return True
        return gpu in (self.reading.open_devices or ())

    def memory_on(self, gpu: int) -> int | None:
        known = [u.memory_used_bytes for u in self.reading.gpus or () if u.gpu == gpu]
        values = [value for value in known if value is not None]
        return sum(values) if values else None

    def now(self, name: str) -> Any:
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(name)
        return value


class EngineWindow(Subject):
    """One inference engine over time."""

    def __init__(self, reading: EngineReading) -> None:
        super().__init__(Track(ENGINE_COLUMNS))
        self.reading = reading
        self.last_seen = 0.0
        self.first_seen = 0.0

    def add(self, at: float, seconds: float, reading: EngineReading) -> None:
        before = self.reading if self.last_seen else None
        cells: list[float] = []
        for value in (reading.requests_running, reading.requests_waiting, reading.kv_used_ratio):
            cells += _mean_min_max(None, value)
        for name in ENGINE_RISES:
            cells.append(_rise(getattr(reading, name), getattr(before, name, None)))
        for value in (reading.first_token_seconds_p95, reading.inter_token_seconds_p95):
            cells.append(NAN if value is None else value)
        cells.append(NAN if reading.metrics_ok is None else float(reading.metrics_ok))
        running, waiting = reading.requests_running, reading.requests_waiting
        cells.append(NAN if running is None else float(running + (waiting or 0) >= 1))
        cells.append(NAN if waiting is None else float(waiting >= 1))
        self.track.append(at, seconds, array("f", cells))
        self.reading, self.last_seen = reading, at
        self.first_seen = self.first_seen or at

    def now(self, name: str) -> Any:
        value = getattr(self.reading, name)
        if value is None:
            raise NotMeasured(f"engine.{name}")
        return value


class HostWindow(Subject):
    """The machine around the GPUs over time."""

    def __init__(self) -> None:
        super().__init__(Track(HOST_COLUMNS))
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


class Users(NamedTuple):
    """Who is on one GPU."""

    processes: list[ProcessWindow]
    engines: list[EngineWindow]
    kinds: frozenset[str]


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
        self.started = 0.0
        self.snapshots = 0
        self.gpus: dict[str, GpuWindow] = {}
        self.processes: dict[tuple[int, float], ProcessWindow] = {}
        self.engines: dict[str, EngineWindow] = {}
        self.departed: deque[ProcessWindow] = deque(maxlen=DEPARTED_KEPT)  # had a GPU and ended
        self._users: dict[int, Users] = {}
        self.host = HostWindow()
        self.host.node = self
        self.events: deque[KernelEvent] = deque(maxlen=EVENTS_KEPT)
        self.most_gpus = 0
        self.expected_gpus: int | None = None
        self.clock_offset_seconds: float | None = None  # server clock minus agent clock
        self.maintenance_until: float | None = None
        self.allowed_workloads: tuple[str, ...] = ()
        self.workloads_declared = False
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
        rebooted = self._rebooted(snapshot)
        self.time, self.latest = at, snapshot
        self.received_at = at if received_at is None else received_at
        self.started = self.started or at - seconds
        self.snapshots += 1
        self._gaps = {(gap.subject, gap.metric): gap.reason for gap in snapshot.gaps}
        self._users = {}
        self._add_gpus(snapshot, at, seconds, rebooted)
        self._add_processes(snapshot, at, seconds)
        self._add_engines(snapshot, at, seconds)
        self._add_host(snapshot, at, seconds)
        for event in snapshot.events:
            self._add_event(event, at)

    def _period(self, snapshot: Snapshot) -> float:
        if snapshot.agent is not None:
            return snapshot.agent.interval_seconds
        if self.latest is None or snapshot.taken_at <= self.time:
            return 1.0
        return min(snapshot.taken_at - self.time, 60.0)

    def _clock_went_back(self, at: float) -> None:
        subjects: Iterator[Subject] = iter(
            [*self.gpus.values(), *self.processes.values(), *self.engines.values(), self.host]
        )
        for subject in subjects:
            subject.track.forget_from(at)
        self.started = min(self.started, at)

    def _rebooted(self, snapshot: Snapshot) -> bool:
        before = self.latest.host if self.latest else None
        now = snapshot.host
        return bool(before and now and before.boot_id and now.boot_id and before.boot_id != now.boot_id)

    def _add_gpus(self, snapshot: Snapshot, at: float, seconds: float, rebooted: bool) -> None:
        seen = set()
        for reading in snapshot.gpus:
            key = reading.uuid or reading.bus_id or f"index:{reading.index}"
            seen.add(key)
            gpu = self.gpus.get(key)
            if gpu is None:
                gpu = self.gpus[key] = GpuWindow(self, reading)
            gpu.add(at, seconds, reading)
        nvml_answers = snapshot.nvml is None or snapshot.nvml.error is None
        if nvml_answers:
            for key, gpu in list(self.gpus.items()):
                if key not in seen:
                    gpu.present = False
                    if rebooted and len(snapshot.gpus) >= self.most_gpus:
                        del self.gpus[key]  # another card stands in its place
        self.most_gpus = max(self.most_gpus, len(snapshot.gpus))

    def _add_processes(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        for reading in snapshot.processes:
            key = (reading.pid, reading.started_at or 0.0)
            process = self.processes.get(key)
            if process is None:
                process = self.processes[key] = ProcessWindow(reading)
            process.add(at, seconds, reading)
        self.departed.extend(p for p in self.processes.values() if p.last_seen != at and p.reading.gpus)
        self.processes = {k: p for k, p in self.processes.items() if p.last_seen == at}

    def _add_engines(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        for reading in snapshot.engines:
            engine = self.engines.get(reading.name)
            if engine is None or (reading.pid and engine.reading.pid and reading.pid != engine.reading.pid):
                engine = self.engines[reading.name] = EngineWindow(reading)
            engine.add(at, seconds, reading)
        self.engines = {k: e for k, e in self.engines.items() if e.last_seen == at}

    def _add_host(self, snapshot: Snapshot, at: float, seconds: float) -> None:
        host, nvml = snapshot.host, snapshot.nvml
        row = [getattr(host, name, None) for name in HOST_COLUMNS.values[:-2]]
        row += (float(nvml.error is not None), nvml.sweep_seconds) if nvml else (None, None)
        self.host.add_ports(at, host)
        self.host.track.append(at, seconds, array("f", [NAN if v is None else v for v in row]))

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

    def users_of(self, gpu: int) -> Users:
        """Processes (the largest first), engines and kinds of program on one GPU; found once a snapshot."""
        found = self._users.get(gpu)
        if found is None:
            processes = [process for process in self.processes.values() if process.is_on(gpu)]
            processes.sort(key=lambda process: -(process.memory_on(gpu) or 0))
            pids = {process.reading.pid for process in processes}
            engines = [
                engine
                for engine in self.engines.values()
                if gpu in (engine.reading.gpus or ())
                or engine.reading.pid in pids
                or pids.intersection(engine.reading.worker_pids or ())
            ]
            kinds = frozenset(process.workload.kind for process in processes)
            found = self._users[gpu] = Users(processes, engines, kinds)
        return found

    def gpus_in_order(self) -> list[GpuWindow]:
        return sorted(self.gpus.values(), key=lambda gpu: gpu.index)

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

    @property
    def interval(self) -> float:
        agent = self.latest.agent if self.latest else None
        return agent.interval_seconds if agent else 10.0

    def covers(self, span: float) -> bool:
        return self.host.covers(span)

    def require(self, span: float) -> None:
        self.host.require(span)

    @property
    def log_readable(self) -> bool:
        """Whether the agent reads the kernel log; of pasted text, whether some is there."""
        agent = self.latest.agent if self.latest else None
        return bool(agent.kernel_log_readable) if agent else True

    @property
    def pasted(self) -> bool:
        return self.latest is not None and self.latest.source == "pasted"

    # ---- surviving a restart

    def pack(self) -> bytes:
        """The coarse levels, which cannot be rebuilt from a few recent snapshots."""
        levels = {
            name: [(lv.at.tobytes(), lv.seconds.tobytes(), lv.cells.tobytes()) for lv in track.coarse]
            for name, track in self._kept_tracks().items()
            if track.coarse
        }
        return msgspec.msgpack.encode([_layouts(), levels])

    def unpack(self, packed: bytes) -> None:
        """Restore what `pack` kept, for the GPUs this window knows; other layouts are left out."""
        layouts, levels = msgspec.msgpack.decode(packed)
        if layouts != _layouts():
            return
        tracks = self._kept_tracks()
        for name, rows in levels.items():
            if name in tracks:
                tracks[name].prepend(rows)

    def _kept_tracks(self) -> dict[str, Track]:
        return {"host": self.host.track, **{f"gpu:{key}": gpu.track for key, gpu in self.gpus.items()}}

    def tracks(self) -> Iterator[Track]:
        """Every track of the node."""
        for group in (self.gpus, self.processes, self.engines):
            for subject in group.values():
                yield subject.track
        yield self.host.track

    def rest(self) -> None:
        """Give back what was remembered while this node was judged."""
        for track in self.tracks():
            track.rest()


def _layouts() -> list[dict[str, int]]:
    return [columns.coarse.at if columns.coarse else {} for columns in (GPU_COLUMNS, HOST_COLUMNS)]


def bus_key(bus_id: str) -> str:
    """A PCI address without leading zeros of its domain and without its function: `0:c7:0`."""
    parts = bus_id.lower().split(".")[0].split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    return ":".join(part.lstrip("0") or "0" for part in parts)
