"""Situations of engine-asleep and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle, vllm_processes
from gpudiag.window import Window


def _asleep(utilization: Any = 0.0, **engine: Any) -> Window:
    s = Situation()
    s.all_gpus(memory_used_bytes=2 * GIB, utilization_percent=utilization)
    vllm_processes(s, memory=2 * GIB)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0], **{"sleeping": True, **engine})
    return s.passes(minutes=6).window


CASES = [
    Case("vLLM in sleep mode", _asleep, "fires", severity="ok", confidence="proven"),
    Case("awake, with a small model", lambda: _asleep(sleeping=False), "clear"),
    Case("a reserved pool", lambda: vllm_idle().window, "clear"),
    Case("it says asleep and works", lambda: _asleep(utilization=4.0), "clear"),
    Case("utilization cannot be read", lambda: _asleep(utilization=None), "unjudged"),
]
