"""Situations of unknown-process and its look-alikes."""

from typing import Any

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _node(
    *processes: dict[str, Any], allowed: tuple[str, ...] | None = None, mig: bool = False, **extra: Any
) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB, utilization_percent=None if mig else 80.0, mig_mode=mig)
    for i, process in enumerate(processes):
        s.runs({0: 10 * GIB}, pid=8000 + i, **process)
    s.extra.update(extra)
    s.passes(minutes=6)
    if allowed is not None:
        s.window.workloads_declared, s.window.allowed_workloads = True, allowed
    return s.window


MINER = {"name": "xmrig", "command": "./xmrig -o pool", "user": "guest"}
SERVER = {"name": "vllm", "command": "vllm serve m", "user": "serve"}
JOB_1 = {"name": "python3", "command": "python3 a.py", "slurm_job": "11"}
JOB_2 = {"name": "python3", "command": "python3 b.py", "slurm_job": "12"}
POD_1 = {"name": "python3", "command": "python3 a.py", "pod": "a-0", "namespace": "team"}
POD_2 = {"name": "python3", "command": "python3 b.py", "pod": "b-0", "namespace": "team"}
UNNAMED: dict[str, Any] = {"hidden": True}


def _unnamed(memory: int | None) -> Window:
    process = ProcessReading(
        pid=3101, hidden=True, gpus=[GpuUse(gpu=0, memory_used_bytes=memory, type="C")], in_nvml=True
    )
    return pasted_with([process], memory_used_bytes=6 * GIB)


CASES = [
    Case(
        "a program that nobody declared",
        lambda: _node(MINER, SERVER, allowed=("vllm*",)),
        "fires",
        severity="info",
    ),
    Case("two jobs on one GPU", lambda: _node(JOB_1, JOB_2), "fires", severity="warning", variant="two-jobs"),
    Case("two pods on one GPU", lambda: _node(POD_1, POD_2), "fires", severity="info", variant="two-jobs"),
    Case("two pods on slices of one GPU", lambda: _node(POD_1, POD_2, mig=True), "clear"),
    Case(
        "two jobs where sharing is declared",
        lambda: _node(JOB_1, JOB_2, labels={"gpu_sharing": "time"}),
        "clear",
    ),
    Case("a declared user", lambda: _node(SERVER, allowed=("serve",)), "clear"),
    Case("the desktop is nobody's job", lambda: _node({"name": "Xorg"}, SERVER, allowed=("vllm*",)), "clear"),
    Case("nothing declared, one process", lambda: _node(MINER), "clear"),
    Case("the only process cannot be named", lambda: _node(UNNAMED), "unjudged"),
    Case(
        "pasted: a process that the driver cannot name",
        lambda: _unnamed(5 * GIB),
        "fires",
        severity="info",
        confidence="possible",
        variant="unnamed",
    ),
    Case("pasted: a system process without memory", lambda: _unnamed(None), "clear"),
]
