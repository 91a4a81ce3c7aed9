"""A level against the simplest thing that could do the same: a list of rows."""

from __future__ import annotations

from array import array

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gpudiag.window.levels import HERE, NAN, Columns, Level, Scale

COLUMNS = Columns(("load",), ("errors", HERE))
STEPS = Columns(("load",), ("errors", HERE), scales=dict.fromkeys(("load", "errors", HERE), Scale(10, -100)))
MOST = 4
VALUES = st.sampled_from([NAN, 0.0, 1.0, 2.5])  # few, so that columns stand still for a while
ROW = st.lists(VALUES, min_size=COLUMNS.width, max_size=COLUMNS.width)
BLANK = [NAN, NAN, NAN, NAN, 0.0]


class Rows(RuleBasedStateMachine):
    """Rows come, slots come and go, the clock goes back: the level says what the list says."""

    columns = COLUMNS

    def __init__(self) -> None:
        super().__init__()
        self.level = Level(self.columns, MOST, 2)
        self.now = 0.0
        self.expected: list[tuple[float, list[list[float]]]] = []  # of each row: when, and its slots

    @rule(data=st.data())
    def a_row_comes(self, data: st.DataObject) -> None:
        slots = [data.draw(st.one_of(st.none(), ROW)) for _ in range(self.level.slots)]
        rows = {slot: row for slot, row in enumerate(slots) if row is not None}
        self.now += 10.0
        self.level.append(self.now, 10.0, self.columns.together(rows, self.level.slots))
        self.expected = [*self.expected, (self.now, [row or BLANK for row in slots])][-MOST:]

    @rule(data=st.data())
    def nothing_moves(self, data: st.DataObject) -> None:
        values = data.draw(ROW)
        for _ in range(data.draw(st.integers(1, 2 * MOST))):
            self.now += 10.0
            self.level.append(
                self.now,
                10.0,
                self.columns.together(dict.fromkeys(range(self.level.slots), values), self.level.slots),
            )
            self.expected = [*self.expected, (self.now, [values] * self.level.slots)][-MOST:]

    @rule(data=st.data())
    def slots_change(self, data: st.DataObject) -> None:
        known = st.integers(0, self.level.slots - 1)
        sources = data.draw(st.lists(st.one_of(st.none(), known), min_size=1, max_size=4))
        self.level.lay_out(sources)
        self.expected = [
            (at, [BLANK if slot is None else slots[slot] for slot in sources]) for at, slots in self.expected
        ]

    @rule(rows=st.integers(1, MOST))
    def the_clock_goes_back(self, rows: int) -> None:
        kept = self.expected[:-rows]
        self.level.forget_from(self.expected[len(kept)][0] if self.expected else self.now)
        self.expected = kept

    @rule()
    def the_server_starts_again(self) -> None:
        self.level = Level.unpack(self.columns, MOST, self.level.slots, self.level.pack())

    @invariant()
    def it_says_what_came(self) -> None:
        assert list(self.level.at) == [at for at, _ in self.expected]
        for first in range(len(self.expected)):
            for column in range(self.columns.width):
                said = self.level.values_by_slot(column, first)
                for slot in range(self.level.slots):
                    wanted = [slots[slot][column] for _, slots in self.expected[first:]]
                    assert same(said[slot], wanted)
                    assert same(self.level.values(column, slot, first), wanted)

    @invariant()
    def what_stands_still_is_one_value_a_slot(self) -> None:
        if self.expected:
            for column in range(self.columns.width):
                steady = self.level.steady(column)
                if steady is not None:
                    for _, slots in self.expected:
                        assert same(steady, [slot[column] for slot in slots])


class Steps(Rows):
    """The same, kept in 16 bits."""

    columns = STEPS


def same(values: array[float], wanted: list[float]) -> bool:
    return len(values) == len(wanted) and all(
        (a != a and b != b) or a == b for a, b in zip(values, wanted, strict=True)
    )


TestRows, TestSteps = Rows.TestCase, Steps.TestCase
TestRows.settings = TestSteps.settings = settings(max_examples=60, stateful_step_count=25)


def test_a_column_that_stood_still_for_a_round_is_one_value_a_slot_again() -> None:
    level = Level(COLUMNS, MOST, 1)
    for number, value in enumerate([1.0, 2.5, *[1.0] * (2 * MOST)]):
        level.append(10.0 * number, 10.0, COLUMNS.row([value] * COLUMNS.width))
        moved = level.steady(0) is None
        if number == 1:
            assert moved

    assert not moved
