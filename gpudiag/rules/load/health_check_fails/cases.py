"""Situations of health-check-fails and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, vllm_busy, vllm_idle
from gpudiag.window import Window


def _idle(minutes: float = 6, age: float = 3600, **engine: Any) -> Window:
    s = vllm_idle(minutes=0)
    s.runs(pid=4100, started_at=s.now - age)
    s.serves("vllm", **{"health_ok": False, **engine})
    return s.passes(minutes=minutes).window


def _was_well(minutes: float) -> Window:
    s = vllm_idle()
    s.serves("vllm", health_ok=False)
    return s.passes(minutes=minutes).window


def _busy(minutes: float) -> Window:
    s = vllm_busy()
    s.serves("vllm", health_ok=False)
    return s.passes(minutes=minutes).window


def _now_and_then() -> Window:
    s = vllm_idle(minutes=0)
    for well in (True, False, False) * 8:
        s.serves("vllm", health_ok=well)
        s.reports()
    return s.window


CASES = [
    Case(
        "its numbers can be read, and its health check says no",
        _idle,
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case("it was well until three minutes ago", lambda: _was_well(3), "fires"),
    Case("it counts no tokens", lambda: _idle(generation_tokens_total=None), "fires"),
    Case("it says no for six minutes, and still makes tokens", lambda: _busy(6), "fires", variant="makes"),
    Case("it says no for two minutes, and finishes its last requests", lambda: _busy(2), "clear"),
    Case("it said no a minute ago for the first time", lambda: _was_well(1), "clear"),
    Case("it started four minutes ago and warms up", lambda: _idle(minutes=4, age=0), "clear"),
    Case("it says no now and then", _now_and_then, "clear"),
    Case("it has no health check", lambda: _idle(health_ok=None), "clear"),
    Case("neither its health nor its numbers answer", lambda: _idle(metrics_ok=False), "clear"),
    Case("a server that waits", lambda: vllm_idle().window, "clear"),
    Case("no engine here", lambda: Situation().passes(minutes=6).window, "clear"),
]
