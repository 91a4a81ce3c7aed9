"""Situations of fabric-not-ready and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import error_line, one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _node(
    state: str | None,
    status: str | None = None,
    booted: float = 86_400,
    manager: str | None = "active",
    switches: int = 4,
) -> Window:
    s = Situation(gpus=8)
    s.machine(booted_at=s.now - booted, nvswitches=switches, services={MANAGER: manager} if manager else None)
    s.all_gpus(fabric_state=state, fabric_status=status)
    return s.passes(minutes=1).window


MANAGER = "nvidia-fabricmanager"

CASES = [
    Case(
        "CUDA told a program of it",
        lambda: error_line("system_not_ready", "Error 802: system not yet initialized"),
        "fires",
        severity="critical",
        confidence="likely",
        variant="program",
    ),
    Case(
        "still in progress a day after boot",
        lambda: _node("in_progress"),
        "fires",
        severity="critical",
        confidence="proven",
        gpu=None,
    ),
    Case(
        "completed with an error",
        lambda: _node("completed", "not_supported"),
        "fires",
        severity="critical",
        gpu=None,
    ),
    Case(
        "its manager stopped",
        lambda: _node("completed", "success", manager="failed"),
        "fires",
        severity="critical",
        variant="manager",
        gpu=None,
    ),
    Case(
        "two minutes after boot",
        lambda: _node("in_progress", booted=120),
        "fires",
        severity="info",
        variant="starting",
        gpu=None,
    ),
    Case(
        "in one pasted sample",
        lambda: one_sample(fabric_state="in_progress"),
        "fires",
        confidence="likely",
        gpu=None,
    ),
    Case("the fabric is up", lambda: _node("completed", "success"), "clear", gpu=None),
    Case(
        "a node without NVSwitch, whose manager has nothing to do",
        lambda: _node("not_supported", manager="failed", switches=0),
        "clear",
        gpu=None,
    ),
    Case("a single GPU without a fabric", lambda: Situation().passes(minutes=1).window, "clear", gpu=None),
    Case(
        "switches are there, and neither state nor manager can be read",
        lambda: _node(None, manager=None),
        "unjudged",
        gpu=None,
    ),
]
