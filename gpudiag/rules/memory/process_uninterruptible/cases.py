"""Situations of process-uninterruptible and its look-alikes."""

from typing import Any

from gpudiag.model import ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _stuck(minutes: float = 6, utilization: float = 0.0, **process: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=20 * GIB, utilization_percent=utilization)
    s.runs(
        {0: 20 * GIB},
        pid=9200,
        **{"name": "python3", "state": "D", "wait_channel": "uvm_spin_loop", **process},
    )
    return s.passes(minutes=minutes).window


def _pasted() -> Window:
    process = ProcessReading(pid=7637, state="R", name="VLLM::EngineCore", wait_channel="uvm_spin_loop")
    return pasted_with([process], gpus=0)


def _now_and_then() -> Window:
    s = Situation()
    for i in range(36):
        s.runs(
            {0: 20 * GIB}, pid=9200, name="python3", state="D" if i % 3 == 2 else "S", wait_channel="nv_wait"
        )
        s.passes(seconds=10)
    return s.window


CASES = [
    Case(
        "stuck in the driver for five minutes",
        _stuck,
        "fires",
        severity="critical",
        confidence="likely",
        gpu=None,
    ),
    Case("stuck somewhere unknown", lambda: _stuck(wait_channel=None), "fires", confidence="possible"),
    Case("a pasted stack inside nvidia_uvm", _pasted, "fires"),
    Case("it waits for NFS", lambda: _stuck(wait_channel="nfs_wait_bit_killable"), "clear"),
    Case("it sleeps", lambda: _stuck(state="S"), "clear"),
    Case("in state D now and then", _now_and_then, "clear"),
    Case("a server that waits", lambda: vllm_idle().window, "clear"),
    Case(
        "stuck somewhere unknown, and its GPU works",
        lambda: _stuck(wait_channel=None, utilization=30.0),
        "unjudged",
    ),
    Case("seen for half a minute", lambda: _stuck(minutes=0.5), "unjudged"),
]
