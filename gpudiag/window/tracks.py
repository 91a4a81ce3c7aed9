"""Running statistics: tables of floats at four resolutions, oldest row first.

A `Table` holds what a node's GPUs (or one process, one engine, the host) did: one row a snapshot, with a slot
for each of them. A `Track` is one slot, and answers questions about it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

import msgspec

from gpudiag.window.levels import NAN, Columns, Level, Row, combine

W2, W5, W15, W30 = 120.0, 300.0, 900.0, 1800.0
W6H, W24H, W7D = 21_600.0, 86_400.0, 604_800.0
ENOUGH = 0.8  # share of a span that samples must cover before a pattern over it is judged
FEWEST = 10  # rows, where they are short
SPARE_ROWS = 2  # what ended just before five minutes: it is taken off sums
FINE_ROWS = 30 + SPARE_ROWS  # five minutes of an agent that reports every ten seconds
MOST_FINE_ROWS = 300 + SPARE_ROWS  # of one that reports more often


class NotMeasured(Exception):
    """The samples do not carry what was asked for; `missing` names it."""

    def __init__(self, *missing: str, reason: str | None = None, wait_seconds: float | None = None) -> None:
        super().__init__(", ".join(missing))
        self.missing = list(missing)
        self.reason = reason
        self.wait_seconds = wait_seconds


class Coverage(NamedTuple):
    """How much of a span samples cover, and whether a pattern over it can be judged."""

    rows: int
    seconds: float
    enough: bool


def coverage(rows: int, seconds: float, span: float) -> Coverage:
    """What so many rows, so many seconds together, cover of a span."""
    if not rows:
        return Coverage(0, seconds, False)
    period = max(10.0, seconds / rows)  # an agent may report once a minute
    fewest = min(FEWEST if span <= W5 else 1, ENOUGH * span / period)
    return Coverage(rows, seconds, seconds >= ENOUGH * span and rows >= fewest)


class Table:
    """The past of several subjects that are seen together, a slot each."""

    __slots__ = ("_firsts", "_lasting", "_sums", "coarse", "columns", "covers", "fine", "known", "slots")

    def __init__(self, columns: Columns, slots: int = 0) -> None:
        self.columns, self.slots = columns, slots
        self.fine = Level(columns, FINE_ROWS, slots)
        self.coarse: list[Level] = []  # made when the first row is due: most processes end before
        # What was asked, of every slot: until the next row, or, from coarse rows, until one of them is added.
        self.known: dict[tuple[str, float], list[Stats | None]] = {}
        self._lasting: dict[tuple[str, float], list[Stats | None]] = {}
        self._sums: dict[tuple[str, float], Sums] = {}
        self._firsts: dict[float, int] = {}  # by span: the first of the fine rows
        self.covers: dict[float, list[Coverage]] = {}

    def seat(self, tracks: Sequence[Track], new: int = 0) -> list[Track]:
        """Keep these subjects, forget the others, and make room for new ones, which are returned."""
        sources = [*(track.slot for track in tracks), *[None] * new]
        self.slots = len(sources)
        for level in (self.fine, *self.coarse):
            level.lay_out(sources)
        for slot, track in enumerate(tracks):
            track.slot = slot
        self._forget_answers()
        return [Track(self, slot) for slot in range(len(tracks), self.slots)]

    def append(self, at: float, seconds: float, rows: Mapping[int, Sequence[float]]) -> None:
        """A new row: what is seen of each slot; of the others nothing."""
        if (self.fine.rows - SPARE_ROWS) * seconds < W5 and self.fine.rows < MOST_FINE_ROWS:
            self.fine = self.fine.with_rows(min(MOST_FINE_ROWS, ceil(W5 / max(1.0, seconds)) + SPARE_ROWS))
            self._sums.clear()
        if self.fine.at and self.columns.coarse:
            self._roll_up(at)
        self.fine.append(at, seconds, self.columns.together(rows, self.slots))
        self.rest()

    def rest(self) -> None:
        """Give back what was remembered for questions: few are asked between two judgements."""
        if self.known:
            self.known.clear()
            self._firsts.clear()
        if self.covers:
            self.covers.clear()

    def _forget_answers(self) -> None:
        self._lasting.clear()
        self._sums.clear()
        self.rest()

    def _roll_up(self, now: float) -> None:
        """Close each coarse row whose period has ended, from the rows of the next finer level."""
        finer, resolutions = self.fine, self.columns.resolutions
        if not self.coarse:
            if finer.at[-1] // resolutions[0][0] == now // resolutions[0][0]:
                return
            self.coarse = self.coarse_levels()
        for (seconds, _), level in zip(resolutions, self.coarse, strict=True):
            period = finer.at[-1] // seconds
            if now // seconds == period:
                return
            first = bisect_right(finer.at, period * seconds - 1e-6)
            if first >= len(finer.at):
                return
            self._lasting.clear()
            level.append(finer.at[-1], sum(finer.seconds[first:]), combine(finer, first, level.columns))
            finer = level

    def coarse_levels(self) -> list[Level]:
        """Empty levels, one of each coarse resolution."""
        kept = self.columns.coarse
        return [Level(kept, rows, self.slots) for _, rows in self.columns.resolutions] if kept else []

    def forget_from(self, at: float) -> None:
        """Drop rows at or after `at` (the clock went back)."""
        for level in (self.fine, *self.coarse):
            level.forget_from(at)
        self._forget_answers()

    def prepend(
        self, packed: list[tuple[bytes, bytes, bytes]], slots: int, sources: Sequence[int | None]
    ) -> None:
        """Put packed coarse rows before ours; `sources` are our slots among their `slots`."""
        self.coarse = self.coarse or self.coarse_levels()
        finer = None
        for i, (level, rows) in enumerate(zip(self.coarse, packed, strict=True)):
            older = Level.unpack(level.columns, level.rows, slots, rows)
            older.lay_out(sources)
            period = self.columns.resolutions[i][0]
            whole = self._first_row(level, finer, period) if finer else None
            finer = self.coarse[i] = level.after(older, period, whole)
        self._forget_answers()

    @staticmethod
    def _first_row(level: Level, finer: Level, period: float) -> Row | None:
        """A level's first row out of all that the finer one has of its period; None where it has no row.

        It may have been closed while only the newer part was there.
        """
        if not level.at:
            return None
        at = level.at[0]
        first = bisect_right(finer.at, at // period * period - 1e-6)
        part = finer.part(first, bisect_right(finer.at, at))
        return Row(at, sum(part.seconds), combine(part, 0, level.columns)) if part.at else None

    # ---- answers, for every slot at once: a node's GPUs are asked the same questions

    def over(self, question: tuple[str, float]) -> list[Stats | None]:
        """Statistics of one column over the last so many seconds, by slot; None where no row carries it."""
        answers = self.known.get(question)
        if answers is None:
            near = question[1] <= W5
            answers = self.known[question] = self._near(question) if near else self._far(question)
        return answers

    def _near(self, question: tuple[str, float]) -> list[Stats | None]:
        level, (name, span) = self.fine, question
        if not level.at:
            return [None] * self.slots
        column, first = self.columns.at[name], self._firsts.get(span)
        if first is None:
            first = self._firsts[span] = level.first_within(span)
        if type(level.cells[column]) is bytes:
            return _steady(level, column, first)
        sums = self._sums.get(question)
        if sums is None:
            sums = self._sums[question] = Sums(level, column)
        return sums.stats(first)

    def _far(self, key: tuple[str, float]) -> list[Stats | None]:
        known = self._lasting.get(key)
        if known is None:
            known, finest = [None] * self.slots, False
            for level in self.levels(*key):
                if level.at and None in known:
                    found = _summaries(level, *key)
                    known = [best or other for best, other in zip(known, found, strict=True)]
                    finest = finest or level is self.fine
            if not finest:
                self._lasting[key] = [stats and stats.settled() for stats in known]
        return known

    def covered(self, span: float) -> list[Coverage]:
        """What samples cover of the last `span` seconds, by slot."""
        covered = self.covers.get(span)
        if covered is None:
            covered = self.covers[span] = self._covers(span)
        return covered

    def _covers(self, span: float) -> list[Coverage]:
        level = self.fine
        if span > W5 and self.coarse and self.coarse[0].at:
            level = next((found for _, found in self._reaching(span)), self.coarse[0])
        if not level.at:
            return [coverage(0, 0.0, span)] * self.slots
        first = level.first_within(span)
        seconds, rows = level.seconds[first:], len(level.at) - first
        whole = coverage(rows, sum(seconds), span)
        here = level.columns.here
        if here is None or level.everybody:
            return [whole] * self.slots
        covered = []
        for shares in level.values_by_slot(here, first):
            present = sum(shares)
            if present == rows:
                covered.append(whole)
            else:
                there = sum(a * b for a, b in zip(shares, seconds, strict=True))
                covered.append(coverage(round(present), there, span))
        return covered

    def _reaching(self, span: float) -> list[tuple[float, Level]]:
        """Coarse levels with rows that reach back so far, the finest first."""
        resolutions = zip(self.columns.resolutions, self.coarse, strict=True)
        return [(s, level) for (s, rows), level in resolutions if span <= s * rows and level.at]

    def levels(self, name: str, span: float) -> list[Level]:
        """Where to look for `name` over `span`, the best first."""
        fine = self.fine
        fine_span = fine.at[-1] - fine.at[0] if fine.at else 0.0
        if not self.coarse or span <= max(fine_span, W5) or name not in self.coarse[0].columns.at:
            return [fine]
        reaching = self._reaching(span)
        if reaching:
            return [reaching[0][1], fine]
        return [*(level for level in reversed(self.coarse) if level.at), fine]


class Stats(msgspec.Struct, gc=False):  # made in a quarter of the time that a class takes
    """One metric over one span: the mean of `n` rows; how long they are about, and extremes, on demand.

    Valid until the next snapshot: what is on demand is looked up in the table's own rows.
    """

    mean: float
    n: int
    _slot: int
    _rows: tuple[Level, int, int] | None  # level, column and first row
    _low: float | None = None
    _high: float | None = None
    _seconds: float | None = None
    _values: array[float] | None = None

    @property
    def seconds(self) -> float:
        """From when the subject was first there until it went, or until the last row."""
        if self._seconds is None:
            assert self._rows is not None
            level, _, first = self._rows
            self._seconds = level.seconds_there(self._slot, first)
        return self._seconds

    @property
    def min(self) -> float:
        """The lowest sample, not the lowest row."""
        if self._low is None:
            self._low = min(self._extremes(1))
        return self._low

    @property
    def max(self) -> float:
        if self._high is None:
            self._high = max(self._extremes(2))
        return self._high

    @property
    def highs(self) -> array[float]:
        """The highest sample of each row, oldest first; just one where all rows have the same."""
        return self._extremes(2)

    @property
    def values(self) -> array[float]:
        """The mean of each row, oldest first; just one where all rows have the same."""
        if self._values is None:
            assert self._rows is not None
            self._values = self._in_rows(*self._rows)
        return self._values

    def _extremes(self, offset: int) -> array[float]:
        """Of a gauge its minima, which stand in the column after it, or its maxima; else the values."""
        if self._rows is None:
            return self.values
        level, column, first = self._rows
        if column >= level.columns.gauge_cells or level.are_one(column, column + offset):
            return self.values
        return self._in_rows(level, column + offset, first)

    def _in_rows(self, level: Level, column: int, first: int) -> array[float]:
        steady = level.steady(column)
        if steady is not None:
            return steady[self._slot : self._slot + 1]
        values = level.values(column, self._slot, first)
        return values if len(values) == self.n else _known(values)  # else some rows do not carry it

    def settled(self) -> Stats:
        """The same without the rows: four values that have the same ends and extremes."""
        values = array("f", [self.first, self.min, self.max, self.last])
        return Stats(self.mean, self.n, self._slot, None, self.min, self.max, self.seconds, values)

    @property
    def first(self) -> float:
        """Mean of the oldest row."""
        return self.values[0]

    @property
    def last(self) -> float:
        return self.values[-1]


class Sums:
    """A column that moves, summed over a span that moves with it, by slot.

    The same is asked after every snapshot: what has come is added, and what has gone is taken off.
    """

    __slots__ = ("_column", "_end", "_level", "_start", "_totals")

    def __init__(self, level: Level, column: int) -> None:
        self._level, self._column = level, column
        self._start = self._end = -1  # rows, counted with those that are gone
        self._totals: list[float] = []

    def stats(self, first: int) -> list[Stats | None]:
        """Statistics of the rows from `first` on, by slot; None where none carries a value."""
        self._move_to(first)
        level, column, totals = self._level, self._column, self._totals
        n, rows = len(level.at) - first, (level, column, first)
        found: list[Stats | None] = []
        for slot, total in enumerate(totals):
            if total == total:
                found.append(Stats(total / n, n, slot, rows))
                continue
            values = _known(level.values(column, slot, first))  # some row does not carry it
            found.append(Stats(sum(values) / len(values), len(values), slot, rows) if values else None)
        return found

    def _move_to(self, first: int) -> None:
        level, column = self._level, self._column
        start, end = level.gone + first, level.gone + len(level.at)
        if (start, end) == (self._start, self._end):
            return
        near = level.gone <= self._start <= start < self._end <= end and end - self._end <= SPARE_ROWS
        if not near or start // level.rows != self._start // level.rows:  # now and then anew: sums round
            self._totals = [sum(values) for values in level.values_by_slot(column, first)]
        else:
            totals = self._totals
            for row in range(self._end, end):
                totals = [t + value for t, value in zip(totals, level.moved(column, row), strict=True)]
            for row in range(self._start, start):
                totals = [t - value for t, value in zip(totals, level.moved(column, row), strict=True)]
            if any(t != t for t in totals):
                for slot, values in enumerate(level.values_by_slot(column, first)):
                    totals[slot] = sum(values)
            self._totals = totals
        self._start, self._end = start, end


def _steady(level: Level, column: int, first: int) -> list[Stats | None]:
    """Statistics of a column that has not moved, by slot; None where it carries no value."""
    steady = level.steady(column)
    assert steady is not None
    n, rows, slots = len(level.at) - first, (level, column, first), len(steady)
    value = steady[0] if slots else NAN
    if slots == 1:
        return [Stats(value, n, 0, rows) if value == value else None]
    if steady.count(value) == slots and level.everybody and level.stands_still(column):
        return [Stats(value, n, 0, rows)] * slots  # as of GPUs at rest
    return [Stats(value, n, slot, rows) if value == value else None for slot, value in enumerate(steady)]


def _summaries(level: Level, name: str, span: float) -> list[Stats | None]:
    """Statistics of one column over the last `span` seconds, by slot; None where no row carries it."""
    column, first = level.columns.at[name], level.first_within(span)
    if isinstance(level.cells[column], bytes):
        return _steady(level, column, first)
    return Sums(level, column).stats(first)


class Track:
    """The past of one subject (a GPU, a process, an engine, the host): its slot in a table."""

    __slots__ = ("slot", "table")

    def __init__(self, table: Table, slot: int) -> None:
        self.table, self.slot = table, slot

    def series(self, name: str, span: float) -> list[tuple[float, float]]:
        """(time, value) rows for charts and trends: the finest level that reaches back `span`."""
        for level in self.table.levels(name, span):
            if level.at:
                first = level.first_within(span)
                values = level.values(level.columns.at[name], self.slot, first)
                return [(t, v) for t, v in zip(level.at[first:], values, strict=True) if v == v]
        return []

    def covered(self, span: float) -> Coverage:
        """What samples cover of the last `span` seconds."""
        return self.table.covered(span)[self.slot]


def _known(values: array[float]) -> array[float]:
    return array("f", [value for value in values if value == value])
