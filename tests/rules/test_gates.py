"""The gates of rules on clocks, links, faults and setup only save time: none that would fire is left unasked.

Other families use a gate as a condition of the rule itself.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from gpudiag.examine import all_rules, default_rules
from gpudiag.rule import Case, Rule
from gpudiag.window import NotMeasured, Window

FAMILIES = ("clocks", "links", "faults", "setup")
GATED = [rule for rule in all_rules() if rule.family in FAMILIES and rule.given]
GPU_RULES = [rule for rule in GATED if rule.subject == "gpu"]
NODE_RULES = [rule for rule in GATED if rule.subject == "node"]
CASES = [
    pytest.param(case, id=f"{rule.id}: {case.title}")
    for rule in all_rules()
    if rule.subject != "fleet"
    for case in importlib.import_module(f"{rule.module}.cases").CASES
]


def fires(rule: Rule, subject: Any) -> bool:
    try:
        return bool(rule.judged(subject))
    except NotMeasured:
        return False


@pytest.mark.parametrize("case", CASES)
def test_a_closed_gate_hides_nothing(case: Case) -> None:
    window = case.window()
    assert isinstance(window, Window)
    window.judged_at = case.now if case.now is not None else window.time
    hidden = {
        (rule.id, gpu.index)
        for gpu in window.gpus_in_order()
        for rule in GPU_RULES
        if rule not in default_rules().for_gpu(gpu) and fires(rule, gpu)
    }
    hidden |= {
        (rule.id, -1)
        for rule in NODE_RULES
        if rule not in default_rules().for_node(window) and fires(rule, window)
    }

    assert not hidden
