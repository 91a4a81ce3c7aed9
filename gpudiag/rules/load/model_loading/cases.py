"""Situations of model-loading and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
from gpudiag.window import Window

SILENT: dict[str, Any] = {"metrics_ok": False, "health_ok": False, "port_open": False, "ever_answered": False}
"""A server that has not answered yet."""


def _starts(
    minutes: float = 3,
    age_minutes: float = 0,
    name: str = "VLLM::EngineCore",
    grow: bool = True,
    utilization: Any = 0.0,
    server: dict[str, Any] | None = None,
    **process: Any,
) -> Window:
    s = Situation()
    if server is not None:
        s.serves("vllm", worker_pids=[4121], gpus=[0], **{**SILENT, **server})
    reading = s.runs(
        {0: GIB},
        pid=4121,
        name=name,
        command=name,
        started_at=s.now - 60 * age_minutes,
        parent_name="vllm",
        **process,
    )
    s.gpu(0).shows(utilization_percent=utilization)
    for step in range(round(minutes * 6)):
        held = GIB + (step * GIB if grow else 0)
        s.gpu(0).shows(memory_used_bytes=held)
        reading.gpus[0].memory_used_bytes = held  # type: ignore[index]
        s.passes(seconds=10)
    return s.window


def _answered() -> Window:
    s = vllm_idle(minutes=0)
    s.runs(pid=4121, started_at=s.now - 600, cpu_percent=100.0)
    return s.passes(minutes=6).window


def _follower() -> Window:
    s = Situation()
    s.runs(pid=4100, name="vllm", command="vllm serve m --headless", started_at=s.now - 1200, gpus=[])
    s.runs({0: 70 * GIB}, pid=4121, name="VLLM::EngineCore", started_at=s.now - 1200, parent_name="vllm")
    s.gpu(0).shows(memory_used_bytes=70 * GIB)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0], **{**SILENT, "health_ok": None})
    return s.passes(minutes=6).window


def _in_place_of_another() -> Window:
    s = vllm_busy()
    s.engines.clear()
    s.ends(4121).ends(4100).passes(seconds=10)
    s.gpu(0).shows(utilization_percent=0.0, memory_used_bytes=4 << 20).reading.power_watts = 70.0
    s.passes(seconds=20)
    s.serves("vllm", name="vllm:8001", worker_pids=[4221], gpus=[0], **SILENT)
    s.runs({0: GIB}, pid=4221, name="VLLM::EngineCore", command="VLLM::EngineCore", started_at=s.now,
           parent_name="vllm", cpu_percent=100.0)  # fmt: skip
    return s.passes(minutes=1).window


CASES = [
    Case("it starts where another server worked until two minutes ago", _in_place_of_another, "fires"),
    Case("an engine's memory grows after its start", _starts, "fires", severity="ok"),
    Case("it reads weights from disk", lambda: _starts(grow=False, read_bytes_per_second=900e6), "fires"),
    Case("it compiles", lambda: _starts(grow=False, cpu_percent=100.0), "fires"),
    Case(
        "a job that has just started", lambda: _starts(name="torchrun train.py", cpu_percent=100.0), "fires"
    ),
    Case(
        "for 40 minutes by now",
        lambda: _starts(minutes=6, age_minutes=40, grow=False, server={}, cpu_percent=100.0),
        "fires",
        severity="warning",
        variant="slow",
    ),
    Case(
        "nothing moves for 20 minutes",
        lambda: _starts(minutes=6, age_minutes=20, grow=False, server={}),
        "fires",
        severity="warning",
        variant="stalled",
    ),
    Case("it has answered once", _answered, "clear"),
    Case(
        "it answers, and its metrics are switched off",
        lambda: _starts(minutes=6, age_minutes=20, grow=False, server={"health_ok": True}),
        "clear",
    ),
    Case(
        "its server has died",
        lambda: _starts(minutes=6, age_minutes=20, grow=False, server={"parent_alive": False}),
        "clear",
    ),
    Case(
        "a server of which nobody can tell whether it is ready",
        lambda: _starts(minutes=6, age_minutes=20, name="text-embeddings-router", grow=False),
        "clear",
    ),
    Case("it works for a server on another node, and waits", _follower, "clear"),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("an old process", lambda: _starts(age_minutes=300), "clear"),
    Case(
        "a job at work",
        lambda: _starts(name="torchrun train.py", utilization=95.0, cpu_percent=100.0),
        "clear",
    ),
    Case("utilization cannot be read", lambda: _starts(utilization=None), "unjudged"),
]
