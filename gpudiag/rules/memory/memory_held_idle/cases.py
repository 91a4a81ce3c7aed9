"""Situations of memory-held-idle and its look-alikes."""

from typing import Any

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted, pasted_with, runs, sample, shown
from gpudiag.rules.situations import GIB, Situation, vllm_busy
from gpudiag.window import Window


def _python(used: int, utilization_percent: Any = 0.0, minutes: float = 6, **process: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=used, utilization_percent=utilization_percent)
    known = {"command": "python3 job.py", "slurm_job": "8812"}
    s.runs({0: used}, pid=5150, name="python3", **{**known, **process})
    return s.passes(minutes=minutes).window


def _one_sample() -> Window:
    owner = ProcessReading(pid=5150, name="python3", gpus=[GpuUse(gpu=0, memory_used_bytes=40 * GIB)])
    return pasted_with([owner], memory_used_bytes=40 * GIB)


def _nobody_seen(**values: Any) -> Window:
    return pasted(process_list="cut", memory_used_bytes=40 * GIB, **values)


def _desktop() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=2 * GIB)
    s.runs({0: 2 * GIB}, name="gnome-shell", command="/usr/bin/gnome-shell")
    return s.passes(minutes=6).window


def _no_utilization() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=40 * GIB).hides("utilization_percent")
    return s.passes(minutes=6).window


def _shared_memory(load: float = 0.0, memory: int | None = 60 * GIB) -> Window:
    gpu = shown(utilization_percent=load, memory_used_bytes=None, memory_total_bytes=None)
    lacks = {"memory_used_bytes": "not_supported", "memory_total_bytes": "not_supported"}
    held = runs(name="llama-server", memory_used_bytes=memory)
    return sample(gpu, processes=(held,), gaps={"gpu:0": lacks})


def _shared_memory_for_minutes() -> Window:
    s = Situation()
    s.gpu(0).hides("memory_used_bytes", "memory_total_bytes")
    s.misses("gpu:0", "memory_used_bytes", "not_supported")
    s.runs({0: 60 * GIB}, pid=5150, name="llama-server")
    return s.passes(minutes=6).window


def _rests_beside_its_job() -> Window:
    s = Situation(gpus=2)
    for rank in s.gpus:
        s.runs({rank: 70 * GIB}, pid=5400 + rank, name="python3", command="python3 run.py", slurm_job="4711")
    s.all_gpus(memory_used_bytes=70 * GIB)
    s.gpu(1).shows(utilization_percent=95.0, power_watts=600.0)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "a python process holds memory and does nothing",
        lambda: _python(20 * GIB),
        "fires",
        severity="info",
        confidence="likely",
    ),
    Case("most of the memory is held", lambda: _python(70 * GIB), "fires", severity="warning"),
    Case(
        "most of the memory is held, seen for two minutes",
        lambda: _python(70 * GIB, minutes=2),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case(
        "most of the memory is held, and something runs now and then",
        lambda: _python(70 * GIB, utilization_percent=[0.0] * 29 + [40.0]),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case(
        "its owner saves a checkpoint meanwhile",
        lambda: _python(70 * GIB, write_bytes_per_second=400e6),
        "fires",
        severity="info",
    ),
    Case(
        "nearly full, and the other GPU of its job works",
        _rests_beside_its_job,
        "fires",
        severity="info",
    ),
    Case(
        "notebooks hold most of the memory, and one of them ran a cell a while ago",
        lambda: _python(70 * GIB, command="python3 -m ipykernel_launcher"),
        "fires",
        severity="info",
    ),
    Case(
        "one pasted sample with its process",
        _one_sample,
        "fires",
        confidence="possible",
        variant="one-sample",
    ),
    Case(
        "one pasted sample, its process list cut",
        _nobody_seen,
        "fires",
        confidence="possible",
        variant="owner-unseen",
    ),
    Case(
        "it does a little now and then",
        lambda: _python(20 * GIB, utilization_percent=3),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case(
        "one pasted sample that shows a little work, its process list cut",
        lambda: _nobody_seen(utilization_percent=3),
        "fires",
        variant="owner-unseen-some-work",
    ),
    Case(
        "CPU and GPU share one memory, and a server holds much of it",
        _shared_memory,
        "fires",
        confidence="possible",
        variant="shared-memory-one-sample",
    ),
    Case("the same for minutes", _shared_memory_for_minutes, "fires", variant="shared-memory"),
    Case("the same at work", lambda: _shared_memory(load=80.0), "clear"),
    Case("the same, and the process tells no memory", lambda: _shared_memory(memory=None), "unjudged"),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("the desktop's own memory", _desktop, "clear"),
    Case("utilization cannot be read", _no_utilization, "unjudged"),
    Case(
        "a small part is held and the process list is cut",
        lambda: pasted(process_list="cut", memory_used_bytes=945 << 20, memory_total_bytes=16 * GIB),
        "fires",
    ),
    Case(
        "the same where no process runs, it says: the driver's own",
        lambda: pasted(process_list="none", memory_used_bytes=945 << 20, memory_total_bytes=16 * GIB),
        "clear",
    ),
]
