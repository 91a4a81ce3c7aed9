"""Rows of numbers at one resolution: which columns they have, how they are kept, and what they add up to."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

NAN = math.nan
HERE = "here"  # the column that tells whether a slot's subject was in the snapshot: 1 or 0, later their mean


class Scale(NamedTuple):
    """How a number is kept in 16 bits: `per` steps a unit, upward from `low`."""

    per: float
    low: float = 0.0

    def value(self, code: float) -> float:
        return NAN if code == MISSING else self.low + code / self.per


MISSING = 0xFFFF


class Columns:
    """Which numbers a table keeps of each snapshot: gauges as mean, minimum and maximum, values as one.

    `coarse` names what goes on into the levels of `resolutions` (seconds a row, rows). A gauge may go on as a
    value: then its mean does. With `scales` numbers are kept in 16 bits.
    """

    def __init__(
        self,
        gauges: tuple[str, ...],
        values: tuple[str, ...],
        coarse: Columns | None = None,
        resolutions: tuple[tuple[float, int], ...] = (),
        scales: Mapping[str, Scale] | None = None,
    ) -> None:
        self.gauges, self.values = gauges, values
        self.at = {name: 3 * i for i, name in enumerate(gauges)}
        self.at |= {name: 3 * len(gauges) + i for i, name in enumerate(values)}
        self.width = 3 * len(gauges) + len(values)
        self.is_gauge = frozenset(gauges)
        self.coarse, self.resolutions = coarse, resolutions
        self.scales: list[Scale] | None = None  # by cell
        if scales is not None:
            self.scales = [scales[name] for name in gauges for _ in range(3)] + [scales[n] for n in values]
        self.here = self.at.get(HERE)
        self.blank = self.row([NAN] * self.width)  # of a subject that was not in the snapshot
        if self.here is not None:
            self.blank[self.here] = 0
        self._sources: dict[Columns, list[tuple[int, int]]] = {}
        self._blank_slots: dict[int, array[float]] = {}

    def row(self, values: Sequence[float]) -> array[float]:
        """A row of one or more slots, as it is kept."""
        if self.scales is None:
            return array("f", values)
        steps = [
            MISSING if value != value else round((value - low) * per)
            for value, (per, low) in zip(values, cycle(self.scales), strict=False)
        ]
        if min(steps) < 0 or max(steps) > MISSING:  # further than the scale goes
            steps = [step if step == MISSING else min(MISSING - 1, max(0, step)) for step in steps]
        return array("H", steps)  # type: ignore[return-value]

    def blank_slot(self, rows: int) -> array[float]:
        """Every column of a slot that was in none of so many snapshots."""
        blank = self._blank_slots.get(rows)
        if blank is None:
            cells = [cell for cell in self.blank for _ in range(rows)]
            blank = self._blank_slots[rows] = array(self.blank.typecode, cells)
        return blank

    def sources_in(self, finer: Columns) -> list[tuple[int, int]]:
        """Where each cell of a row comes from: (cell of the finer row, 0 mean, 1 minimum or 2 maximum)."""
        sources = self._sources.get(finer)
        if sources is None:
            sources = [(finer.at[name] + i, i) for name in self.gauges for i in range(3)]
            sources += [(finer.at[name], 0) for name in self.values]
            self._sources[finer] = sources
        return sources


class Level:
    """Rows of one resolution, at most `rows` of them: a ring that is allocated once and never moves.

    Cells are kept column by column, slot after slot: questions are about one column, and a slot is one piece.
    """

    __slots__ = ("at", "cells", "columns", "head", "rows", "seconds", "slots", "width")

    def __init__(self, columns: Columns, rows: int, slots: int) -> None:
        self.columns, self.rows, self.slots = columns, rows, slots
        self.width = slots * columns.width
        self.at, self.seconds = array("d"), array("f")
        kind, size = ("f", 4) if columns.scales is None else ("H", 2)
        self.cells: array[float] = array(kind, bytes(size * rows * self.width))
        self.head = 0  # where the oldest row stands

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        """Add a row of all slots, in place of the oldest where the ring is full."""
        if len(self.at) == self.rows:
            del self.at[0]
            del self.seconds[0]
            self.head = (self.head + 1) % self.rows
        place = (self.head + len(self.at)) % self.rows
        self.at.append(at)
        self.seconds.append(seconds)
        self.cells[place :: self.rows] = row

    def row(self, number: int) -> array[float]:
        return self.cells[(self.head + number) % self.rows :: self.rows]

    def pieces(self, first: int = 0) -> tuple[int, int, int]:
        """Where the rows from row `first` on stand in a column: from, to, and as many at its beginning."""
        start, end, rows = self.head + first, self.head + len(self.at), self.rows
        if start >= rows:
            return start - rows, end - rows, 0
        return (start, end, 0) if end <= rows else (start, rows, end - rows)

    def column(self, cell: int, first: int = 0) -> array[float]:
        """One cell of every row from row `first` on, as it is kept."""
        start, end, more = self.pieces(first)
        cells, base = self.cells, cell * self.rows
        column = cells[base + start : base + end]
        return column + cells[base : base + more] if more else column

    def values(self, cell: int, first: int = 0) -> array[float]:
        """The same as numbers; NaN where one is not known."""
        column = self.column(cell, first)
        if self.columns.scales is None:
            return column
        scale = self.columns.scales[cell % self.columns.width]
        return array("f", [scale.value(code) for code in column])

    def values_by_slot(self, cell: int, first: int = 0) -> list[array[float]]:
        """The values of one column from row `first` on, a slot each."""
        if self.columns.scales is not None:
            return [self.values(place, first) for place in range(cell, self.width, self.columns.width)]
        start, end, more = self.pieces(first)
        cells, rows = self.cells, self.rows
        bases = range(cell * rows, len(cells), self.columns.width * rows)
        if more:
            return [cells[base + start : base + end] + cells[base : base + more] for base in bases]
        return [cells[base + start : base + end] for base in bases]

    def first_within(self, span: float) -> int:
        """Index of the oldest row within the last `span` seconds."""
        since = self.at[-1] - span + 1e-6
        return 0 if self.at[0] > since else bisect_right(self.at, since)

    def reach(self, span: float) -> tuple[int, float]:
        """(that index, seconds that its row and the later ones are about)."""
        first = self.first_within(span)
        return first, self.at[-1] - self.at[first] + self.seconds[first]

    def forget_from(self, at: float) -> None:
        """Drop rows at or after `at` (the clock went back)."""
        keep = bisect_right(self.at, at - 1e-6)
        del self.at[keep:]
        del self.seconds[keep:]

    def lay_out(self, sources: Sequence[int | None]) -> None:
        """Have other slots: each is one of these, or a new one that was not there."""
        size = self.columns.width * self.rows
        blank, old = self.columns.blank_slot(self.rows), self.cells
        self.cells = blank[:0]
        for slot in sources:
            self.cells += blank if slot is None else old[slot * size : (slot + 1) * size]
        self.slots, self.width = len(sources), len(sources) * self.columns.width

    def after(self, older: Level) -> Level:
        """These rows, and before them those of `older`.

        What both know is ours, but for our first row where it began in the middle of its period.
        """
        before = bisect_left(older.at, self.at[0]) if self.at else len(older.at)
        both = before < len(older.at) and older.at[before] == self.at[0]
        whole = int(both and older.seconds[before] > self.seconds[0])
        made = Level(self.columns, self.rows, self.slots)
        for level, rows in ((older, range(before + whole)), (self, range(whole, len(self.at)))):
            for i in rows:
                made.append(level.at[i], level.seconds[i], level.row(i))
        return made

    def pack(self) -> tuple[bytes, bytes, bytes]:
        rows = b"".join(self.row(i).tobytes() for i in range(len(self.at)))
        return self.at.tobytes(), self.seconds.tobytes(), rows

    @classmethod
    def unpack(cls, columns: Columns, rows: int, slots: int, packed: tuple[bytes, bytes, bytes]) -> Level:
        level = cls(columns, rows, slots)
        cells: array[float] = array(level.cells.typecode, packed[2])
        moments = zip(array("d", packed[0]), array("f", packed[1]), strict=True)
        for i, (at, seconds) in enumerate(moments):
            level.append(at, seconds, cells[i * level.width : (i + 1) * level.width])
        return level


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_WAYS = (_mean, min, max)


def combine(finer: Level, first: int, columns: Columns) -> array[float]:
    """One coarse row out of the rows of a finer level from `first` on."""
    start, end, more = finer.pieces(first)
    cells, rows = finer.cells, finer.rows
    sources, scales = columns.sources_in(finer.columns), finer.columns.scales
    row = []
    for slot in range(0, finer.width, finer.columns.width):
        for cell, way in sources:
            base = (slot + cell) * rows
            values: Sequence[float] = cells[base + start : base + end]
            if more:
                values = values + cells[base : base + more]  # type: ignore[operator]
            if scales is not None:
                values = [scales[cell].value(code) for code in values]
            total = sum(values)
            if total == total:
                row.append(total / len(values) if way == 0 else _WAYS[way](values))
            else:  # some rows do not carry it
                values = [value for value in values if value == value]
                row.append(_WAYS[way](values) if values else NAN)
    return columns.row(row)
