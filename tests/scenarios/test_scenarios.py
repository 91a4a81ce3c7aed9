"""Every scenario as a test; `python -m tests.scenarios` prints the table."""

from __future__ import annotations

import pytest

from tests.scenarios.play import play_by_name
from tests.scenarios.scenario import all_scenarios


@pytest.mark.parametrize("name", [scenario.name for scenario in all_scenarios()])
def test_the_verdict_is_the_expected_one(name: str) -> None:
    outcome = play_by_name(name)

    assert [] == outcome.complaints, "\n".join(outcome.findings)


def test_the_suite_is_as_wide_as_promised() -> None:
    """Sixty at least, and as many quiet ones as it takes to know a false alarm."""
    every = all_scenarios()
    quiet = [scenario for scenario in every if scenario.severity in ("ok", "info")]

    assert len(every) >= 60
    assert len(quiet) >= 25
