"""What is asked after every snapshot is kept up to date row by row: it is what counting anew would find."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.window.levels import Columns
from gpudiag.window.tracks import FINE_ROWS, W2, W5, Table

COLUMNS = Columns(("load",), ("watts",))
NOTHING = math.nan

value = st.one_of(st.just(NOTHING), st.sampled_from([0.0, 100.0, 33.333]), st.floats(0, 1e9, width=32))
step = st.sampled_from([9.7, 10.0, 10.0, 10.0, 10.3, 20.0, 45.0, 400.0])
rows = st.lists(st.tuples(step, st.lists(value, min_size=2, max_size=2)), min_size=1, max_size=90)


def cells(watts: float) -> list[float]:
    return [watts, watts / 2, watts * 2, watts]


def check(table: Table, past: list[tuple[float, list[float]]]) -> None:
    """Both spans, by slot, against the rows themselves."""
    for span in (W2, W5):
        since = past[-1][0] - span + 1e-6
        for slot in (0, 1):
            known = [
                each[slot] for at, each in past[-FINE_ROWS:] if at > since and not math.isnan(each[slot])
            ]
            if not known:
                assert table.over(("load", span))[slot] is table.over(("watts", span))[slot] is None
                continue
            for name in ("watts", "load"):
                stats = table.over((name, span))[slot]
                assert stats is not None
                assert stats.n == len(known)
                assert stats.mean == pytest.approx(sum(known) / len(known), rel=1e-6, abs=1e-9)
                assert (stats.first, stats.last) == pytest.approx((known[0], known[-1]), rel=1e-6)
            load = table.over(("load", span))[slot]
            assert load is not None
            assert (load.min, load.max) == pytest.approx((min(known) / 2, max(known) * 2), rel=1e-6)


@settings(max_examples=150, deadline=None)
@given(rows, st.sets(st.integers(0, 89), max_size=40))
def test_sums_kept_up_to_date_are_those_of_the_rows(
    told: list[tuple[float, list[float]]], unasked: set[int]
) -> None:
    table, at, past = Table(COLUMNS), 1000.0, []
    table.seat([], 2)
    for number, (seconds, each) in enumerate(told):
        at += seconds
        table.append(at, 10.0, {slot: cells(watts) for slot, watts in enumerate(each)})
        past.append((at, each))
        if number not in unasked:  # a calm node is not judged after every snapshot
            check(table, past)


def test_a_clock_that_went_back_takes_the_later_rows_off() -> None:
    table = Table(COLUMNS)
    table.seat([], 2)
    past = [(1000.0 + 10 * i, [float(i), 2.0 * i]) for i in range(40)]
    for at, each in past:
        table.append(at, 10.0, {slot: cells(watts) for slot, watts in enumerate(each)})
        table.over(("watts", W5))
    table.forget_from(1350.0)
    past = [row for row in past if row[0] < 1350.0]
    for at in (1350.0, 1360.0):
        past.append((at, [7.0, 9.0]))
        table.append(at, 10.0, {0: cells(7.0), 1: cells(9.0)})
        table.over(("watts", W5))

    kept = [each[0] for at, each in past if at >= 1390.0 - 10.0 * (FINE_ROWS - 1)]
    stats = table.over(("watts", W5))[0]
    assert stats is not None
    assert (stats.n, stats.mean) == (len(kept), pytest.approx(sum(kept) / len(kept)))


def test_those_who_come_and_go_keep_their_own_sums() -> None:
    table = Table(COLUMNS)
    first, second = table.seat([], 2)
    for i in range(40):
        table.append(1000.0 + 10 * i, 10.0, {0: cells(float(i)), 1: cells(500.0 + i)})
        table.over(("watts", W2))
    [third] = table.seat([second], 1)
    table.append(1400.0, 10.0, {second.slot: cells(540.0), third.slot: cells(1.0)})
    means = [stats and stats.mean for stats in table.over(("watts", W2))]

    assert first.slot == 0
    assert means[second.slot] == pytest.approx(sum(range(529, 541)) / 12)
    assert means[third.slot] == 1.0
