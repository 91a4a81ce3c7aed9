"""How numbers read: one spelling, on every surface."""

import pytest

from bot import numbers
from gpudiag.words import units

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10


@pytest.mark.parametrize(
    ("count", "written"),
    [
        (0, "0 B"),
        (1_000, "1,000 B"),
        (68.6 * KIB, "68.6 KiB"),
        (1_023 * KIB, "1,023 KiB"),
        (2 * MIB, "2 MiB"),
        (999.6 * MIB, "1,000 MiB"),
        (79.65 * GIB, "79.7 GiB"),
        (1_440 * GIB, "1,440.0 GiB"),
        (12_345.67 * GIB, "12,345.7 GiB"),
    ],
)
def test_a_size_has_three_digits_or_more_and_a_comma_for_thousands(count: float, written: str) -> None:
    assert written == units.size(count)


@pytest.mark.parametrize(
    ("used", "total", "written"),
    [
        (74 * GIB, 80 * GIB, "74.0 / 80.0 GiB"),
        (300 * MIB, 80 * GIB, "300 MiB / 80.0 GiB"),
        (300 * MIB, 800 * MIB, "300 MiB / 800 MiB"),
        (None, 80 * GIB, "– / 80.0 GiB"),
        (74 * GIB, None, "74.0 GiB / –"),
        (0, 80 * GIB, "0 B / 80.0 GiB"),
        (None, None, "–"),
    ],
)
def test_memory_is_told_held_of_the_whole(used: int | None, total: int | None, written: str) -> None:
    assert written == units.held(used, total)


@pytest.mark.parametrize(
    ("share", "written"),
    [(0.0, "0 %"), (0.004, "< 0.1 %"), (0.4, "0.4 %"), (0.96, "1.0 %"), (1.4, "1 %"), (99.6, "100 %")],
)
def test_little_is_not_told_as_nothing(share: float, written: str) -> None:
    assert written == units.percent(share)


@pytest.mark.parametrize(
    ("seconds", "written"), [(-0.4, "0 s"), (0.4, "0 s"), (59.6, "1 min"), (515.6, "8 min 36 s")]
)
def test_an_age_is_told_in_whole_seconds(seconds: float, written: str) -> None:
    assert written == units.age(seconds)


def test_a_chat_writes_numbers_as_every_other_surface_does() -> None:
    assert units.size(70_272) == numbers.size(70_272)
    assert units.percent(0.4) == numbers.percent(0.4)
    assert units.age(515.6, "ko") == numbers.span(515.6, "ko")
    assert [units.UNKNOWN] * 3 == [numbers.size(None), numbers.percent(None), numbers.span(None)]
