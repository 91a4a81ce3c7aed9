"""Judging drops what it made at once: a server judges hundreds of reports a second."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator

import pytest

from gpudiag.examine import all_rules, judge
from gpudiag.rule import Rule
from gpudiag.window import Window


@pytest.fixture
def collector() -> Iterator[None]:
    """Looks at nothing but what the test makes, and only when it is asked."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(
    "rule", [rule for rule in all_rules() if rule.subject != "fleet"], ids=lambda r: r.id
)
def test_no_case_leaves_anything_to_the_collector_of_cycles(rule: Rule) -> None:
    left = {}
    for case in importlib.import_module(f"{rule.module}.cases").CASES:
        window = case.window()
        if isinstance(window, Window):
            judge(window, now=case.now)  # what is made once and kept
            window.rest()
            gc.collect()
            judge(window, now=case.now)
            window.rest()
            left[case.title] = gc.collect()

    assert left
    assert not any(left.values()), left
