"""What programs complain of: the words that are looked for first never hide what a pattern finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudiag.smi.complaints import ERRORS, complaints_of

LETTERS = st.characters(exclude_characters="İıſ\N{KELVIN SIGN}")  # of no log, and i, s and k to a pattern
ROWS = [pytest.param(words, pattern, id=f"{kind}-{row}") for row, (kind, words, pattern) in enumerate(ERRORS)]


@pytest.mark.parametrize(("words", "pattern"), ROWS)
def test_every_line_that_a_pattern_fits_has_one_of_its_words(
    words: tuple[str, ...], pattern: re.Pattern[str]
) -> None:
    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(st.from_regex(pattern, alphabet=LETTERS))
    def holds(line: str) -> None:
        assert any(word in line.lower() for word in words)

    holds()


@pytest.mark.parametrize("line", ["no devices were found", "No Devices Were Found", "NO DEVICES WERE FOUND"])
def test_a_line_complains_in_small_and_in_large_letters(line: str) -> None:
    found = complaints_of(["$ nvidia-smi", line])

    assert (found.kinds, found.nvml) == (["no_devices"], "not_found")
