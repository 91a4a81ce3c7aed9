"""Situations of host-memory-pressure and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _host(minutes: float = 6, job: bool = True, **host: Any) -> Window:
    s = Situation().machine(memory_available_bytes=GIB, **host)
    if job:
        s.runs({0: 20 * GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=minutes).window


def _blip() -> Window:
    s = Situation().machine(memory_pressure_full=0.0)
    s.runs({0: 20 * GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=6).machine(memory_pressure_full=20.0).reports().window


CASES = [
    Case(
        "tasks wait for memory",
        lambda: _host(memory_pressure_full=18.0),
        "fires",
        severity="warning",
        gpu=None,
    ),
    Case("the host swaps", lambda: _host(swap_in_pages_per_second=900.0), "fires", variant="swapping"),
    Case("no pressure", lambda: _host(), "clear"),
    Case("nobody uses a GPU", lambda: _host(job=False, memory_pressure_full=18.0), "clear"),
    Case("pressure for a moment", _blip, "clear"),
    Case(
        "the kernel does not tell",
        lambda: _host(memory_pressure_full=None, swap_in_pages_per_second=None),
        "unjudged",
    ),
    Case("seen for a minute", lambda: _host(minutes=1, memory_pressure_full=18.0), "unjudged"),
]
