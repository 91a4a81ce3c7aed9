"""Situations of agent-blind and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _agent(minutes: float = 2, hidden: bool = False, **values: Any) -> Window:
    s = Situation()
    for name, value in values.items():
        setattr(s.agent, name, value)
    if hidden:
        s.runs({0: GIB}, pid=31000, hidden=True)
    return s.passes(minutes=minutes).window


CASES = [
    Case(
        "no right to the kernel log nor to processes",
        lambda: _agent(kernel_log_readable=False, sees_all_processes=False),
        "fires",
        severity="info",
        gpu=None,
    ),
    Case("the kernel log only", lambda: _agent(kernel_log_readable=False), "fires", variant="kernel-log"),
    Case("processes of another namespace", lambda: _agent(hidden=True), "fires", variant="processes"),
    Case("a process ended between two reads", lambda: _agent(minutes=1 / 6, hidden=True), "clear"),
    Case("it sees all", lambda: _agent(), "clear"),
    Case("pasted text has no agent", lambda: pasted(), "clear"),
]
