"""Situations of idle-cpu-spin and its look-alikes."""

from gpudiag.model import ThreadReading
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, vllm_idle
from gpudiag.window import Window


def _engine(*percents: float, running: float = 0.0) -> Window:
    s = vllm_idle(minutes=0)
    for pid in (4100, 4121):
        s.runs(pid=pid, threads=[])
    s.runs(pid=4121, threads=[ThreadReading(tid=i, cpu_percent=p) for i, p in enumerate(percents)])
    s.serves("vllm", requests_running=running)
    return s.passes(minutes=6).window


CASES = [
    Case("the engine core polls", lambda: _engine(99.0, 1.0), "fires", severity="ok"),
    Case("no thread is hot", lambda: _engine(3.0, 1.0), "clear"),
    Case("requests are there: then it is a limit", lambda: _engine(99.0, 1.0, running=4.0), "clear"),
    Case("no engine here", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("threads cannot be read", lambda: vllm_idle().window, "unjudged"),
]
