"""Rows of numbers at one resolution: which columns they have, how they are kept, and what they add up to."""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

NAN = math.nan
HERE = "here"  # the column that tells whether a slot's subject was in the snapshot: 1 or 0, later their mean


class Scale(NamedTuple):
    """How a number is kept in 16 bits: `per` steps a unit, upward from `low`."""

    per: float
    low: float = 0.0


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
        self.gauge_cells = 3 * len(gauges)
        self.width = self.gauge_cells + len(values)
        self.coarse, self.resolutions = coarse, resolutions
        self.scales: list[Scale] | None = None  # by cell
        if scales is not None:
            self.scales = [scales[name] for name in gauges for _ in range(3)] + [scales[n] for n in values]
        self.here = self.at.get(HERE)
        self.typecode = "f" if self.scales is None else "H"
        self._absent = [NAN] * self.width  # what is seen of a subject that was not in the snapshot
        if self.here is not None:
            self._absent[self.here] = 0.0
        self.blank = self.row(self._absent)
        present = self.row([1.0] * self.width).tobytes()
        self.present = present[: self.blank.itemsize]  # one cell of `here`
        self._sources: dict[Columns, list[tuple[int, int]]] = {}

    def row(self, values: Sequence[float], slots: int = 1) -> array[float]:
        """A row as it is kept: column by column, in each the slots."""
        if self.scales is None:
            return self.cells(struct.pack(f"{len(values)}f", *values))  # half the time of array("f", values)
        steps = [
            MISSING
            if value != value
            else step
            if 0 <= (step := round((value - low) * per)) < MISSING
            else max(0, min(step, MISSING - 1))  # further than the scale goes
            for value, (per, low) in zip(values, self._scale_of_each(slots), strict=True)
        ]
        return array("H", steps)  # type: ignore[return-value]

    def _scale_of_each(self, slots: int) -> list[Scale]:
        return [scale for scale in self.scales or () for _ in range(slots)]

    def together(self, rows: Mapping[int, Sequence[float]], slots: int) -> array[float]:
        """One row of all slots out of what is seen of some; the others were not in the snapshot."""
        of_slots = [rows.get(slot, self._absent) for slot in range(slots)]
        column_by_column = chain.from_iterable(zip(*of_slots, strict=True))
        return self.row(of_slots[0] if slots == 1 else list(column_by_column), slots)

    def cells(self, content: bytes = b"") -> array[float]:
        """Cells as they are kept: floats, or steps of their scale."""
        return array(self.typecode, content)

    def numbers(self, column: int, kept: array[float]) -> array[float]:
        """What is kept of a column, as numbers; NaN where one is not known."""
        if self.scales is None:
            return kept
        per, low = self.scales[column]
        return array("f", [NAN if code == MISSING else low + code / per for code in kept])

    def sources_in(self, finer: Columns) -> list[tuple[int, int]]:
        """Where each cell of a row comes from: (cell of the finer row, 0 mean, 1 minimum or 2 maximum)."""
        sources = self._sources.get(finer)
        if sources is None:
            sources = [(finer.at[name] + i, i) for name in self.gauges for i in range(3)]
            sources += [(finer.at[name], 0) for name in self.values]
            self._sources[finer] = sources
        return sources


class Row(NamedTuple):
    """A row of all slots: when it ends, how many seconds it is about, its cells."""

    at: float
    seconds: float
    cells: array[float]


class Level:
    """Rows of one resolution, at most `rows` of them: a ring, kept column by column.

    Most columns do not move: what a device cannot tell, errors that do not happen, settings. Such a column is
    one value a slot (bytes); when one moves, the column becomes a ring (an array: slot by slot, in each the
    rows), until nothing in it has moved for a whole round.
    """

    __slots__ = ("at", "cells", "columns", "gone", "head", "rows", "seconds", "slots")

    def __init__(self, columns: Columns, rows: int, slots: int) -> None:
        self.columns, self.rows, self.slots = columns, rows, slots
        self.at, self.seconds = array("d"), array("f")
        self.cells: list[bytes | array[float]] = []  # by column, from the first row on
        self.head = 0  # where the oldest row stands
        self.gone = 0  # rows that were here before it

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        """Add a row of all slots, in place of the oldest where the ring is full."""
        if not self.at:
            self.cells, self.head = self._cut(row), 0
        else:
            if len(self.at) == self.rows:
                del self.at[0]
                del self.seconds[0]
                self.gone += 1
                self.head = (self.head + 1) % self.rows
                if self.head == 0:
                    self._settle()
            self._put((self.head + len(self.at)) % self.rows, row)
        self.at.append(at)
        self.seconds.append(seconds)

    def _cut(self, row: array[float]) -> list[bytes | array[float]]:
        content, size = row.tobytes(), self.slots * row.itemsize
        return [_shared(content[i * size : (i + 1) * size]) for i in range(self.columns.width)]

    def _put(self, place: int, row: array[float]) -> None:
        cells, slots, rows = self.cells, self.slots, self.rows
        content, size = row.tobytes(), slots * row.itemsize
        for column, kept in enumerate(cells):
            if isinstance(kept, bytes):
                if kept == content[column * size : (column + 1) * size]:
                    continue
                kept = cells[column] = self._spread(kept)
            kept[place::rows] = row[column * slots : (column + 1) * slots]

    def _spread(self, values: bytes) -> array[float]:
        """Each slot's value in every row."""
        spread, size = self.columns.cells(), self.columns.blank.itemsize
        for i in range(0, len(values), size):
            spread.frombytes(values[i : i + size] * self.rows)
        return spread

    def _settle(self) -> None:
        """Nothing of a column moved for a whole round: it is one value a slot again."""
        for column, kept in enumerate(self.cells):
            if not isinstance(kept, bytes):
                values = kept[:: self.rows].tobytes()
                if self._spread(values).tobytes() == kept.tobytes():
                    self.cells[column] = _shared(values)

    def row(self, number: int) -> array[float]:
        """One row of all slots."""
        place, row = (self.head + number) % self.rows, self.columns.cells()
        for kept in self.cells:
            if isinstance(kept, bytes):
                row.frombytes(kept)
            else:
                row += kept[place :: self.rows]
        return row

    def pieces(self, first: int = 0) -> tuple[int, int, int]:
        """Where a slot's rows from row `first` on stand: from, to, and as many at the ring's beginning."""
        start, end, rows = self.head + first, self.head + len(self.at), self.rows
        if start >= rows:
            return start - rows, end - rows, 0
        return (start, end, 0) if end <= rows else (start, rows, end - rows)

    @property
    def everybody(self) -> bool:
        """Whether the subject of every slot was in every row."""
        here = self.columns.here
        return here is None or self.cells[here] == self.columns.present * self.slots

    def steady(self, column: int) -> array[float] | None:
        """The value of each slot, where none has moved."""
        kept, columns = self.cells[column], self.columns
        if type(kept) is not bytes:
            return None
        if columns.scales is None:
            return array("f", kept)
        return columns.numbers(column, columns.cells(kept))

    def are_one(self, column: int, other: int) -> bool:
        """Whether neither of two columns has moved, and both are the same."""
        kept = self.cells[column]
        return isinstance(kept, bytes) and kept is self.cells[other]  # see _shared

    def stands_still(self, column: int) -> bool:
        """Whether there is nothing between a gauge's minimum and maximum; of a value always."""
        gauge = column < self.columns.gauge_cells
        return not gauge or (self.are_one(column, column + 1) and self.are_one(column, column + 2))

    def values(self, column: int, slot: int, first: int = 0) -> array[float]:
        """One column of a slot from row `first` on; NaN where a value is not known."""
        kept, base = self.cells[column], slot * self.rows
        if isinstance(kept, bytes):
            values = self.columns.cells(kept)[slot : slot + 1] * (len(self.at) - first)
        else:
            start, end, more = self.pieces(first)
            values = kept[base + start : base + end] + kept[base : base + more]
        return self.columns.numbers(column, values)

    def moved(self, column: int, number: int) -> array[float]:
        """Each slot's value of a column that has moved; row `number` is counted with those that are gone."""
        kept = self.cells[column]
        assert not isinstance(kept, bytes)
        return kept[(self.head + number - self.gone) % self.rows :: self.rows]

    def values_by_slot(self, column: int, first: int = 0) -> list[array[float]]:
        """The same of every slot."""
        kept, rows = self.cells[column], self.rows
        if isinstance(kept, bytes) or self.columns.scales is not None:
            return [self.values(column, slot, first) for slot in range(self.slots)]
        start, end, more = self.pieces(first)
        if more:
            return [kept[i + start : i + end] + kept[i : i + more] for i in range(0, len(kept), rows)]
        return [kept[i + start : i + end] for i in range(0, len(kept), rows)]

    def first_within(self, span: float) -> int:
        """Index of the oldest row within the last `span` seconds."""
        since = self.at[-1] - span + 1e-6
        return 0 if self.at[0] > since else bisect_right(self.at, since)

    def seconds_there(self, slot: int, first: int) -> float:
        """How long rows from `first` on are about: from when their subject came until it went."""
        column, at, seconds = self.columns.here, self.at, self.seconds
        if column is None or self.everybody:
            return at[-1] - at[first] + seconds[first]
        shares = self.values(column, slot, first)
        there = [row for row, share in enumerate(shares) if share]
        if not there:
            return 0.0
        came, went = there[0], there[-1]
        before = seconds[first + came] * shares[came]  # of a coarse row it may have missed the beginning,
        after = seconds[first + went] * (1.0 - shares[went]) if went > came else 0.0  # or the end
        return at[first + went] - after - at[first + came] + before

    def forget_from(self, at: float) -> None:
        """Drop rows at or after `at` (the clock went back)."""
        keep = bisect_right(self.at, at - 1e-6)
        del self.at[keep:]
        del self.seconds[keep:]

    def lay_out(self, sources: Sequence[int | None]) -> None:
        """Have other slots: each is one of these, or a new one that was not there."""
        for column, kept in enumerate(self.cells):
            nothing = self.columns.blank[column : column + 1]
            if isinstance(kept, bytes):
                laid = _laid_out(self.columns.cells(kept), 1, sources, nothing)
                self.cells[column] = _shared(laid.tobytes())
            else:
                self.cells[column] = _laid_out(kept, self.rows, sources, nothing * self.rows)
        self.slots = len(sources)

    def after(self, older: Level, period: float, whole: Row | None = None) -> Level:
        """These rows, and before them those of `older`; a row is about a `period`, whenever in it it ends.

        What both know is ours, but for our first row where it began in the middle of its period: then it is
        theirs, or `whole`, whichever is about more.
        """
        ours = [self._row_at(i) for i in range(len(self.at))]
        theirs = [older._row_at(i) for i in range(len(older.at))]
        before = bisect_left(older.at, self.at[0] // period * period) if ours else len(theirs)
        if ours:
            same = [row for row in theirs[before : before + 1] if row.at // period == ours[0].at // period]
            ours[0] = max([ours[0], *same, *([whole] if whole else [])], key=attrgetter("seconds"))
        made = Level(self.columns, self.rows, self.slots)
        for row in (*theirs[:before], *ours):
            made.append(*row)
        return made

    def with_rows(self, rows: int) -> Level:
        """The same with room for so many rows."""
        return self.part(0, len(self.at), rows)

    def part(self, first: int, end: int, rows: int | None = None) -> Level:
        """Rows from `first` to before `end`."""
        made = Level(self.columns, rows or self.rows, self.slots)
        for i in range(first, end):
            made.append(*self._row_at(i))
        return made

    def _row_at(self, number: int) -> Row:
        return Row(self.at[number], self.seconds[number], self.row(number))

    def pack(self) -> tuple[bytes, bytes, bytes]:
        rows = b"".join(self.row(i).tobytes() for i in range(len(self.at)))
        return self.at.tobytes(), self.seconds.tobytes(), rows

    @classmethod
    def unpack(cls, columns: Columns, rows: int, slots: int, packed: tuple[bytes, bytes, bytes]) -> Level:
        level = cls(columns, rows, slots)
        cells = columns.cells(packed[2])
        width = slots * columns.width
        moments = zip(array("d", packed[0]), array("f", packed[1]), strict=True)
        for i, (at, seconds) in enumerate(moments):
            level.append(at, seconds, cells[i * width : (i + 1) * width])
        return level


def _laid_out(
    column: array[float], size: int, sources: Sequence[int | None], nothing: array[float]
) -> array[float]:
    """A column, `size` cells a slot, with the slots that `sources` names; `nothing` for new ones."""
    laid = column[:0]
    for slot in sources:
        laid += nothing if slot is None else column[slot * size : (slot + 1) * size]
    return laid


_MOST_SHARED = 4_096
_known: dict[bytes, bytes] = {}


def _shared(values: bytes) -> bytes:
    """The same values, kept once for all: a fleet's devices cannot tell the same things."""
    if len(_known) >= _MOST_SHARED:
        _known.clear()
    return _known.setdefault(values, values)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_WAYS = (_mean, min, max)


def combine(finer: Level, first: int, columns: Columns) -> array[float]:
    """One coarse row of all slots out of the rows of a finer level from `first` on."""
    row: list[float] = []
    for column, way in columns.sources_in(finer.columns):
        steady = finer.steady(column)
        if steady is not None:
            row += steady
            continue
        for values in finer.values_by_slot(column, first):
            total = sum(values)
            if total == total:
                row.append(total / len(values) if way == 0 else _WAYS[way](values))
            else:  # some rows do not carry it
                known = [value for value in values if value == value]
                row.append(_WAYS[way](known) if known else NAN)
    return columns.row(row, finer.slots)
