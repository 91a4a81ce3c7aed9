"""Situations of not-enough-evidence."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _blind() -> Window:
    s = Situation()
    s.gpu(0).hides("utilization_percent")
    s.misses("gpu:0", "utilization_percent", "no_permission")
    return s.passes(minutes=6).window


def _lost() -> Window:
    s = Situation()
    s.gpu(0).shows(error="gpu_is_lost", utilization_percent=None, memory_used_bytes=None)
    return s.passes(minutes=6).window


CASES = [
    Case("thirty seconds after the agent started", lambda: Situation().passes(seconds=30).window, "unjudged"),
    Case("utilization cannot be read", _blind, "unjudged"),
    Case("pasted, without its memory cell", lambda: pasted(memory_used_bytes=None), "unjudged"),
    Case("five minutes were seen", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("a lost GPU is evidence enough", _lost, "clear"),
]
