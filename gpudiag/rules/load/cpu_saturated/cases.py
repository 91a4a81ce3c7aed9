"""Situations of cpu-saturated and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, starved_training, vllm_busy
from gpudiag.window import Window


def _idle() -> Window:
    return Situation().machine(cpu_pressure_some=60.0, load_1min=300.0).passes(minutes=6).window


def _own(pressure: float, **host: Any) -> Window:
    s = starved_training(minutes=0, **host)
    s.runs(pid=5400, cpu_pressure_some=pressure)
    return s.passes(minutes=6).window


CASES = [
    Case("threads wait for a core", lambda: starved_training(cpu_pressure_some=55.0).window, "fires"),
    Case(
        "the run queue is long",
        lambda: starved_training(cpu_pressure_some=None, load_1min=160.0).window,
        "fires",
        variant="queue",
    ),
    Case("its own group waits", lambda: _own(40.0), "fires"),
    Case("only other groups wait", lambda: _own(1.0, cpu_pressure_some=60.0, load_1min=200.0), "clear"),
    Case("the GPU is busy all the same", lambda: vllm_busy().window, "clear"),
    Case("no work is asked of the GPU", _idle, "clear"),
    Case("CPU is free", lambda: starved_training().window, "clear"),
    Case(
        "neither pressure nor load is read",
        lambda: starved_training(cpu_pressure_some=None, load_1min=None).window,
        "unjudged",
    ),
]
