"""Running statistics: rows of floats at four resolutions, oldest first."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right

W2, W5, W15, W30 = 120.0, 300.0, 900.0, 1800.0
W6H, W24H, W7D = 21_600.0, 86_400.0, 604_800.0
NAN = math.nan
ENOUGH = 0.8  # share of a span that samples must cover before a pattern over it is judged
FEWEST = 10  # samples


class NotMeasured(Exception):
    """The samples do not carry what was asked for; `missing` names it."""

    def __init__(self, *missing: str, reason: str | None = None, wait_seconds: float | None = None) -> None:
        super().__init__(", ".join(missing))
        self.missing = list(missing)
        self.reason = reason
        self.wait_seconds = wait_seconds


# What a level without rows holds: never added to. Most levels of most processes stay empty.
_NOTHING, _NO_CELLS = array("d"), array("f")


class Stats:
    """One metric over one span: `n` rows, `seconds` from the first to the last; extremes on demand.

    Valid until the next snapshot: extremes are looked up in the track's own rows.
    """

    __slots__ = ("_cells", "_high", "_low", "_start", "_values", "_width", "mean", "n", "seconds")

    def __init__(
        self, values: array[float], mean: float, seconds: float, cells: array[float], start: int, width: int
    ) -> None:
        self._values, self.mean, self.seconds, self.n = values, mean, seconds, len(values)
        # Where the rows' extremes stand: minima right of `start`, maxima right of those. Of width 0: nowhere.
        self._cells, self._start, self._width = cells, start, width
        self._low: float | None = None
        self._high: float | None = None

    @property
    def min(self) -> float:
        """The lowest sample, not the lowest row."""
        if self._low is None:
            self._low = min(self._column(1))
        return self._low

    @property
    def max(self) -> float:
        if self._high is None:
            self._high = max(self._column(2))
        return self._high

    def _column(self, offset: int) -> array[float]:
        if not self._width:
            return self._values
        column = self._cells[self._start + offset :: self._width]
        return column if len(column) == self.n else _known(column)  # else some rows do not carry it

    def settle(self) -> None:
        """Let go of the rows: what they say is kept."""
        if self._cells is not _NO_CELLS:
            self._low, self._high = self.min, self.max
            self._values, self._cells = array("f", [self.first, self.last]), _NO_CELLS

    @property
    def first(self) -> float:
        """Mean of the oldest row."""
        return self._values[0]

    @property
    def last(self) -> float:
        return self._values[-1]


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
        since = self.at[-1] - span + 1e-6
        return 0 if self.at[0] > since else bisect_right(self.at, since)

    def reach(self, span: float) -> tuple[int, float]:
        """(that index, seconds that its row and the later ones are about)."""
        first = self.first_within(span)
        return first, self.at[-1] - self.at[first] + self.seconds[first]

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

    __slots__ = ("_covered", "_long", "_reaches", "coarse", "columns", "fine", "known")

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.fine = Level(columns, FINE_ROWS)
        self.coarse: list[Level] = []  # made when the first row is due: most processes end before
        self.known: dict[tuple[str, float], Stats | None] = {}  # until the next snapshot
        self._reaches: dict[float, tuple[int, float]] = {}  # as known
        self._covered: dict[float, tuple[int, float]] = {}  # as known
        self._long: dict[tuple[str, float], Stats] = {}  # from coarse rows: until one of them is added

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        if self.fine.at and self.columns.coarse:
            self._roll_up(at)
        self.fine.append(at, seconds, row)
        self._forget()

    def _forget(self) -> None:
        """What was found for questions is not true of the next snapshot."""
        if self.known:
            self.known.clear()
        if self._covered:
            self._covered.clear()
        if self._reaches:
            self._reaches.clear()

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
        self._forget()
        self._long.clear()

    def rest(self) -> None:
        """Give back what was remembered for questions: few are asked between two judgements."""
        self._forget()
        for stats in self._long.values():
            stats.settle()

    def forget_from(self, at: float) -> None:
        for level in (self.fine, *self.coarse):
            level.forget_from(at)
        self._forget()
        self._long.clear()

    def over(self, name: str, span: float) -> Stats:
        """Statistics of `name` over the last `span` seconds. Raises NotMeasured when no row carries it."""
        key = (name, span)
        stats = self.known.get(key)
        if stats is None:
            if key not in self.known:
                stats = self.known[key] = self._long.get(key) or self._stats(name, span)
            if stats is None:
                raise NotMeasured(name)
        return stats

    def _stats(self, name: str, span: float) -> Stats | None:
        if span <= W5:
            reach = self._reaches.get(span) or self._reach(span)
            return _summary(self.fine, name, *reach) if reach else None
        for level in self._levels(name, span):
            if not level.at:
                continue
            stats = _summary(level, name, *level.reach(span))
            if stats is not None:
                if level is not self.fine:
                    self._long[name, span] = stats
                return stats
        return None

    def _reach(self, span: float) -> tuple[int, float] | None:
        if not self.fine.at:
            return None
        reach = self._reaches[span] = self.fine.reach(span)
        return reach

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


def _summary(level: Level, name: str, first: int, seconds: float) -> Stats | None:
    """Statistics of one column from row `first` on; None when no row carries it."""
    columns, cells = level.columns, level.cells
    width = columns.width
    start = first * width + columns.at[name]
    values = cells[start::width]
    total = sum(values)
    if total != total:  # a NaN: some row does not carry the value
        values = _known(values)
        total = sum(values)
    if not values:
        return None
    return Stats(values, total / len(values), seconds, cells, start, width if name in columns.is_gauge else 0)


def _known(values: array[float]) -> array[float]:
    return array("f", [value for value in values if value == value])


def _combine(finer: Level, first: int, columns: Columns) -> array[float]:
    """One coarse row out of the rows of a finer level from `first` on."""
    row = array("f", [NAN]) * columns.width
    cells, width, places = finer.cells, finer.columns.width, finer.columns.at
    for name, target in columns.at.items():
        start = first * width + places[name]
        values = cells[start::width]
        total = sum(values)
        gauge = name in columns.is_gauge
        if total == total:
            row[target] = total / len(values)
            if gauge:
                row[target + 1] = min(cells[start + 1 :: width])
                row[target + 2] = max(cells[start + 2 :: width])
        elif known := _known(values):  # some rows do not carry it
            row[target] = sum(known) / len(known)
            if gauge:
                row[target + 1] = min(_known(cells[start + 1 :: width]))
                row[target + 2] = max(_known(cells[start + 2 :: width]))
    return row
