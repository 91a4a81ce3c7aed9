"""Situations of oom-risk and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
from gpudiag.window import Window

FULL = int(78.6 * GIB)


def _training(used: list[int], minutes: float = 6, command: str = "python3 train.py") -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=used, utilization_percent=95.0)
    s.runs({0: used[-1]}, name="python3", command=command)
    return s.passes(minutes=minutes).window


CASES = [
    Case(
        "memory swings up to the brim",
        lambda: _training([FULL, FULL - 3 * GIB, FULL, FULL, FULL]),
        "fires",
        severity="warning",
    ),
    Case("full, but it does not move", lambda: _training([FULL]), "clear"),
    Case("a reserved pool is full by design", lambda: vllm_idle().window, "clear"),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("room is left", lambda: _training([60 * GIB, 70 * GIB]), "clear"),
    Case("seen for half a minute", lambda: _training([FULL, FULL - 2 * GIB, FULL], minutes=0.5), "unjudged"),
]
