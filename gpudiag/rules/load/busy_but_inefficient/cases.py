"""Situations of busy-but-inefficient and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation, vllm_busy
from gpudiag.window import Window


def _spins(**gpu: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(
        **{"memory_used_bytes": 10 * GIB, "utilization_percent": 100.0, "power_watts": 160.0, **gpu}
    )
    s.runs({0: 10 * GIB}, name="python3", command="python3 sim.py")
    return s.passes(minutes=16).window


def _began_six_minutes_ago() -> Window:
    s = Situation()
    s.passes(minutes=20)
    s.gpu(0).shows(memory_used_bytes=10 * GIB, utilization_percent=100.0, power_watts=160.0)
    s.runs({0: 10 * GIB}, name="python3", command="python3 sim.py")
    return s.passes(minutes=6).window


def _tp_spin() -> Window:
    s = vllm_busy(minutes=0)
    s.gpu(0).shows(utilization_percent=100.0, power_watts=120.0)
    s.serves("vllm", requests_running=0.0, kv_used_ratio=0.0, rates={"generation_tokens_total": 0.0})
    return s.passes(minutes=6).window


CASES = [
    Case(
        "few multiprocessors are active",
        lambda: _spins(sm_active_ratio=0.08),
        "fires",
        severity="info",
        confidence="likely",
    ),
    Case("100 % at little power", _spins, "fires", confidence="possible", variant="by-power"),
    Case(
        "between a little power and what tells of work",
        lambda: _spins(power_watts=29.4, power_limit_watts=72.0),
        "fires",
        variant="by-power",
    ),
    Case("at 100 % for six minutes only", _began_six_minutes_ago, "fires", variant="by-power"),
    Case(
        "one pasted sample",
        lambda: pasted(
            utilization_percent=100.0, power_watts=69.0, power_limit_watts=300.0, memory_used_bytes=GIB
        ),
        "fires",
        confidence="possible",
        variant="by-power",
    ),
    Case(
        "a table without memory or process: the driver's start, not a program",
        lambda: pasted(utilization_percent=100.0, power_watts=69.0, power_limit_watts=300.0),
        "clear",
    ),
    Case("full units", lambda: _spins(sm_active_ratio=0.9), "clear"),
    Case(
        "memory bandwidth is the limit", lambda: _spins(sm_active_ratio=0.3, dram_active_ratio=0.8), "clear"
    ),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("workers spin without requests", _tp_spin, "clear"),
    Case("memory is read all the time", lambda: _spins(memory_utilization_percent=45.0), "clear"),
    Case("neither units nor power are read", lambda: _spins(power_watts=None), "unjudged"),
]
