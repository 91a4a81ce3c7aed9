"""Situations of engine-metrics-unreachable and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _silent(minutes: float = 6, reason: str | None = None, age: float = 3600, **engine: Any) -> Window:
    s = vllm_idle(minutes=0)
    s.runs(pid=4100, started_at=s.now - age)
    s.serves("vllm", **{"metrics_ok": False, "port_open": True, **engine})
    if reason:
        s.misses("engine:vllm:8000", "metrics", reason)
    return s.passes(minutes=minutes).window


def _not_found() -> Window:
    s = Situation()
    s.runs({0: 9 * GIB}, pid=6000, name="llama-server", command="llama-server -m m.gguf")
    return s.passes(minutes=6).window


def _once() -> Window:
    s = vllm_idle()
    s.serves("vllm", metrics_ok=False)
    return s.reports().window


def _follower(flags: str) -> Window:
    s = vllm_idle(minutes=0)
    s.runs(pid=4100, command=f"vllm serve m --nnodes 2 {flags}")
    s.serves("vllm", metrics_ok=False, health_ok=None, port_open=None, ever_answered=False)
    return s.passes(minutes=6).window


CASES = [
    Case("the port is open and /metrics does not answer", _silent, "fires", severity="warning", gpu=None),
    Case(
        "metrics are switched off",
        lambda: _silent(reason="not_enabled"),
        "fires",
        severity="info",
        variant="not-enabled",
    ),
    Case("a server whose address is not known", _not_found, "fires", severity="info", variant="not-found"),
    Case("a server that leads two nodes does not answer", lambda: _follower("--node-rank 0"), "fires"),
    Case("it works for a server on another node", lambda: _follower("--headless"), "clear"),
    Case("it is the second of two nodes", lambda: _follower("--node-rank=1"), "clear"),
    Case("it answers", lambda: vllm_idle().window, "clear"),
    Case("it started two minutes ago", lambda: _silent(age=60, minutes=2), "clear"),
    Case("it failed once", _once, "clear"),
    Case("no engine here", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("pasted text", lambda: pasted(), "clear"),
]
