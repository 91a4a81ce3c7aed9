"""Running statistics: tables of floats at four resolutions, oldest row first.

A `Table` holds what a node's GPUs (or one process, one engine, the host) did: one row a snapshot, with a slot
for each of them. A `Track` is one slot, and answers questions about it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from gpudiag.window.levels import Columns, Level, combine

W2, W5, W15, W30 = 120.0, 300.0, 900.0, 1800.0
W6H, W24H, W7D = 21_600.0, 86_400.0, 604_800.0
ENOUGH = 0.8  # share of a span that samples must cover before a pattern over it is judged
FEWEST = 10  # samples
FINE_ROWS = 30


class NotMeasured(Exception):
    """The samples do not carry what was asked for; `missing` names it."""

    def __init__(self, *missing: str, reason: str | None = None, wait_seconds: float | None = None) -> None:
        super().__init__(", ".join(missing))
        self.missing = list(missing)
        self.reason = reason
        self.wait_seconds = wait_seconds


class Table:
    """The past of several subjects that are seen together, a slot each."""

    __slots__ = ("_covered", "_place", "_reaches", "coarse", "columns", "fine", "rolled", "slots")

    def __init__(self, columns: Columns, slots: int = 0) -> None:
        self.columns, self.slots = columns, slots
        self.fine = Level(columns, FINE_ROWS, slots)
        self.coarse: list[Level] = []  # made when the first row is due: most processes end before
        self.rolled = 0  # how often a coarse row was added
        self._place = 0  # of the newest row
        self._reaches: dict[float, tuple[int, float]] = {}  # by span; until the next row
        self._covered: dict[float, tuple[Level | None, int, float]] = {}  # as _reaches

    def add_slots(self, count: int) -> list[Track]:
        """More subjects, which were not there until now."""
        first = self.slots
        self._lay_out([*range(first), *[None] * count])
        return [Track(self, slot) for slot in range(first, self.slots)]

    def keep_slots(self, slots: Sequence[int]) -> None:
        """Forget the other subjects; these move to the places that they have in `slots`."""
        self._lay_out(slots)

    def _lay_out(self, sources: Sequence[int | None]) -> None:
        self.slots = len(sources)
        self.fine = self.fine.laid_out(sources)
        self.coarse = [level.laid_out(sources) for level in self.coarse]
        self._place = max(0, len(self.fine.at) - 1) * self.fine.width

    def begin(self, at: float, seconds: float) -> None:
        """A new row, in which nobody is here yet."""
        self.append(at, seconds, self.columns.blank * self.slots)

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        """A new row, of all slots."""
        if self.fine.at and self.columns.coarse:
            self._roll_up(at)
        self._place = self.fine.append(at, seconds, row)
        self.rest()

    def put(self, slot: int, row: array[float]) -> None:
        """What is seen of one subject in the newest row."""
        width = self.columns.width
        place = self._place + slot * width
        self.fine.cells[place : place + width] = row

    def rest(self) -> None:
        """Give back what was remembered for questions: few are asked between two judgements."""
        if self._reaches:
            self._reaches.clear()
        if self._covered:
            self._covered.clear()

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
            self.rolled += 1
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
        self.rolled += 1
        self.rest()

    def prepend(
        self, packed: list[tuple[bytes, bytes, bytes]], slots: int, sources: Sequence[int | None]
    ) -> None:
        """Put packed coarse rows before ours; `sources` are our slots among their `slots`."""
        self.coarse = self.coarse or self.coarse_levels()
        for i, (level, rows) in enumerate(zip(self.coarse, packed, strict=True)):
            older = Level.unpack(level.columns, level.rows, slots, rows)
            self.coarse[i] = level.after(older.laid_out(sources))
        self.rolled += 1
        self.rest()

    def reach(self, span: float) -> tuple[int, float] | None:
        """Where the last `span` seconds begin among the fine rows, see `Level.reach`; None without rows."""
        reach = self._reaches.get(span)
        if reach is None and self.fine.at:
            reach = self._reaches[span] = self.fine.reach(span)
        return reach

    def covered(self, span: float) -> tuple[Level | None, int, float]:
        """(the level to look at, its first row within the last `span` seconds, seconds covered)."""
        covered = self._covered.get(span)
        if covered is None:
            covered = self._covered[span] = self._covers(span)
        return covered

    def _covers(self, span: float) -> tuple[Level | None, int, float]:
        level = self.fine
        if span > W5 and self.coarse and self.coarse[0].at:
            level = next((found for _, found in self._reaching(span)), self.coarse[0])
        if not level.at:
            return None, 0, 0.0
        first = level.first_within(span)
        return level, first, sum(level.seconds[first:])

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


class Stats:
    """One metric over one span: `n` rows, `seconds` from the first to the last; extremes on demand.

    Valid until the next snapshot: extremes are looked up in the table's own rows.
    """

    __slots__ = ("_cell", "_first", "_high", "_level", "_low", "_values", "mean", "n", "seconds")

    def __init__(
        self, values: array[float], mean: float, seconds: float, level: Level | None, cell: int, first: int
    ) -> None:
        self._values, self.mean, self.seconds, self.n = values, mean, seconds, len(values)
        # Where the rows' extremes stand: minima right of `cell`, maxima right of those; None: nowhere.
        self._level, self._cell, self._first = level, cell, first
        self._low: float | None = None
        self._high: float | None = None

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

    def _extremes(self, offset: int) -> array[float]:
        if self._level is None:
            return self._values
        column = self._level.values(self._cell + offset, self._first)
        return column if len(column) == self.n else _known(column)  # else some rows do not carry it

    def settle(self) -> None:
        """Let go of the rows: what they say is kept."""
        if self._level is not None:
            self._low, self._high = self.min, self.max
            self._values, self._level = array("f", [self.first, self.last]), None

    @property
    def first(self) -> float:
        """Mean of the oldest row."""
        return self._values[0]

    @property
    def last(self) -> float:
        return self._values[-1]


class Track:
    """The past of one subject (a GPU, a process, an engine, the host): its slot in a table."""

    __slots__ = ("_long", "_rolled", "known", "slot", "table")

    def __init__(self, table: Table, slot: int) -> None:
        self.table, self.slot = table, slot
        self.known: dict[tuple[str, float], Stats | None] = {}  # until the next snapshot
        self._long: dict[tuple[str, float], Stats] = {}  # from coarse rows: until one of them is added
        self._rolled = 0

    def append(self, at: float, seconds: float, row: array[float]) -> None:
        """A new row of a table that has no other subject."""
        self.table.append(at, seconds, row)
        if self.known:
            self.known.clear()

    def put(self, row: array[float]) -> None:
        """What the newest snapshot says of it."""
        self.table.put(self.slot, row)
        if self.known:
            self.known.clear()

    def rest(self) -> None:
        """Give back what was remembered for questions: few are asked between two judgements."""
        if self.known:
            self.known.clear()
        for stats in self._long.values():
            stats.settle()

    def over(self, name: str, span: float) -> Stats:
        """Statistics of `name` over the last `span` seconds. Raises NotMeasured when no row carries it."""
        key = (name, span)
        stats = self.known.get(key)
        if stats is None:
            if key not in self.known:
                stats = self.known[key] = self._stats(key)
            if stats is None:
                raise NotMeasured(name)
        return stats

    def _stats(self, key: tuple[str, float]) -> Stats | None:
        name, span = key
        if span <= W5:
            reach = self.table.reach(span)
            return self._summary(self.table.fine, name, *reach) if reach else None
        if self._rolled != self.table.rolled:
            self._long.clear()
            self._rolled = self.table.rolled
        stats = self._long.get(key)
        if stats is not None:
            return stats
        for level in self.table.levels(name, span):
            if not level.at:
                continue
            stats = self._summary(level, name, *level.reach(span))
            if stats is not None:
                if level is not self.table.fine:
                    self._long[key] = stats
                return stats
        return None

    def _summary(self, level: Level, name: str, first: int, seconds: float) -> Stats | None:
        """Statistics of one column from row `first` on; None when no row carries it."""
        columns = level.columns
        cell = self.slot * columns.width + columns.at[name]
        values = level.column(cell, first) if columns.scales is None else level.values(cell, first)
        total = sum(values)
        if total != total:  # a NaN: some row does not carry the value
            values = _known(values)
            if not values:
                return None
            total, seconds = sum(values), self._seconds_here(level, first, seconds)
        extremes = level if name in columns.is_gauge else None
        return Stats(values, total / len(values), seconds, extremes, cell, first)

    def _seconds_here(self, level: Level, first: int, seconds: float) -> float:
        """Of the seconds from row `first` on, those from when the subject was first there until it went."""
        if level.columns.here is None:
            return seconds
        here = level.column(self.slot * level.columns.width + level.columns.here, first)
        rows = [row for row, share in enumerate(here, first) if share]
        return level.at[rows[-1]] - level.at[rows[0]] + level.seconds[rows[0]]

    def series(self, name: str, span: float) -> list[tuple[float, float]]:
        """(time, value) rows for charts and trends: the finest level that reaches back `span`."""
        for level in self.table.levels(name, span):
            if level.at:
                first = level.first_within(span)
                values = level.values(self.slot * level.columns.width + level.columns.at[name], first)
                return [(t, v) for t, v in zip(level.at[first:], values, strict=True) if v == v]
        return []

    def seconds_covered(self, span: float) -> tuple[int, float]:
        """(rows, seconds) that samples cover within the last `span`."""
        level, first, seconds = self.table.covered(span)
        if level is None:
            return 0, 0.0
        rows = len(level.at) - first
        if level.columns.here is None:
            return rows, seconds
        here = level.values(self.slot * level.columns.width + level.columns.here, first)
        present = sum(here)
        if present == rows:
            return rows, seconds
        return round(present), sum(a * b for a, b in zip(here, level.seconds[first:], strict=True))


def _known(values: array[float]) -> array[float]:
    return array("f", [value for value in values if value == value])
