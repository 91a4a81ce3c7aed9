"""Situations of compute-mode-exclusive and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _mode(mode: str | None, mps: bool = False) -> Window:
    s = Situation()
    s.gpu(0).shows(compute_mode=mode)
    if mps:
        s.runs({0: 30 << 20}, name="nvidia-cuda-mps-server")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "one process only", lambda: _mode("exclusive_process"), "fires", severity="info", confidence="proven"
    ),
    Case("no process at all", lambda: _mode("prohibited"), "fires", severity="warning", variant="prohibited"),
    Case("in one pasted sample", lambda: one_sample(compute_mode="exclusive_process"), "fires"),
    Case("MPS wants it so", lambda: _mode("exclusive_process", mps=True), "clear"),
    Case("open for all", lambda: _mode("default"), "clear"),
    Case("the mode cannot be read", lambda: _mode(None), "unjudged"),
]
