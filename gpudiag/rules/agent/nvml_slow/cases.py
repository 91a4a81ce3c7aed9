"""Situations of nvml-slow and its look-alikes."""

from gpudiag.model import NvmlReading
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _sweeps(before: float, now: float, minutes: float = 6, hours: float = 2) -> Window:
    s = Situation()
    s.nvml = NvmlReading(sweep_seconds=before)
    s.passes(minutes=60 * hours)
    s.nvml = NvmlReading(sweep_seconds=now)
    return s.passes(minutes=minutes).window


def _hangs(seconds: float, looks: float | None = 0.1) -> Window:
    s = Situation().passes(minutes=6)
    s.nvml = NvmlReading(
        sweep_seconds=0.02 if looks else None,
        look_seconds=looks,
        silent_seconds=seconds,
        silent_call="nvmlDeviceGetMemoryInfo",
    )
    return s.reports().window


def _one_slow_round(seconds: float) -> Window:
    s = Situation()
    s.nvml = NvmlReading(sweep_seconds=0.7)
    s.passes(minutes=60)
    s.nvml = NvmlReading(sweep_seconds=seconds)
    s.reports()
    s.nvml = NvmlReading(sweep_seconds=0.7)
    return s.passes(minutes=2).window


def _lists(seconds: float) -> Window:
    s = Situation()
    s.nvml = NvmlReading(sweep_seconds=0.02, look_seconds=seconds)
    return s.passes(minutes=6).window


def _no_nvml() -> Window:
    s = Situation()
    s.nvml = None  # type: ignore[assignment]
    s.extra = {}
    return s.passes(minutes=6).window


CASES = [
    Case("a call hangs", lambda: _hangs(40), "fires", variant="silent", confidence="proven", gpu=None),
    Case("a round takes a hundred times longer", lambda: _sweeps(0.02, 2.0), "fires", severity="warning"),
    Case(
        "slower than a sample a second, as it always was",
        lambda: _sweeps(1.8, 2.0),
        "fires",
        severity="info",
        confidence="possible",
        variant="late",
    ),
    Case(
        "process lists that take longer than a report is due",
        lambda: _lists(14.0),
        "fires",
        severity="info",
        confidence="possible",
        variant="lists",
    ),
    Case("slow, as it always was", lambda: _sweeps(0.8, 0.9), "clear"),
    Case("one slow round among quicker ones", lambda: _one_slow_round(5.0), "clear"),
    Case("process lists that take a while", lambda: _lists(4.0), "clear"),
    Case("slower, but still fast", lambda: _sweeps(0.01, 0.2), "clear"),
    Case("a call took a second", lambda: _hangs(1), "clear"),
    Case("the time is not reported", _no_nvml, "unjudged"),
    Case("a call hangs before any look was complete", lambda: _hangs(6, looks=None), "unjudged"),
    Case("slow since the agent started", lambda: _sweeps(2.0, 2.0, minutes=1, hours=0), "unjudged"),
]
