"""Situations of idle-power-high and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _node(watts: float, held: bool = False, gpus: int = 4) -> Window:
    s = Situation(gpus=gpus)
    s.gpu(0).shows(power_watts=watts)
    if held:
        s.runs({0: GIB}, name="python3")
    return s.passes(minutes=6).window


CASES = [
    Case(
        "a third more than its siblings at rest",
        lambda: _node(115.0),
        "fires",
        severity="info",
        variant="siblings",
    ),
    Case("as much as its siblings", lambda: _node(70.0), "clear"),
    Case("a little more", lambda: _node(76.0), "clear"),
    Case("a process keeps it awake", lambda: _node(115.0, held=True), "clear"),
    Case("alone, and its usual power is not known yet", lambda: _node(115.0, gpus=1), "unjudged"),
    Case("one sample", lambda: one_sample(power_watts=115.0), "unjudged"),
]
