"""Situations of cpu-bound-single-core and its look-alikes."""

from gpudiag.model import ThreadReading
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, starved_server, vllm_idle
from gpudiag.window import Window


def _threads(s: Situation, *percents: float, pid: int = 4121) -> Situation:
    s.runs(
        pid=pid,
        threads=[ThreadReading(tid=i, name="MainThread", cpu_percent=p) for i, p in enumerate(percents)],
    )
    return s


def _starved(*percents: float, pid: int = 4121, cpu_percent: float = 6.0) -> Window:
    s = _threads(starved_server(minutes=0), *percents, pid=pid).machine(cpu_percent=cpu_percent)
    return s.passes(minutes=6).window


def _polling() -> Window:
    return _threads(vllm_idle(minutes=0), 99.0, 2.0).passes(minutes=6).window


def _waits_its_turn() -> Window:
    s = Situation(gpus=2)
    for rank in s.gpus:
        s.runs({rank: 60 * GIB}, pid=5400 + rank, command="torchrun grpo.py", slurm_job="4711")
        _threads(s, 100.0, 2.0, pid=5400 + rank)
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=95.0, power_watts=600.0)
    s.passes(minutes=20).gpu(0).shows(utilization_percent=0.0, power_watts=110.0)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "the engine core's main thread is at 99 %", lambda: _starved(99.0, 12.0), "fires", severity="warning"
    ),
    Case("the server's own thread, not the worker's", lambda: _starved(98.0, 5.0, pid=4100), "fires"),
    Case("several threads work alike", lambda: _starved(97.0, 95.0), "clear"),
    Case("no thread is hot", lambda: _starved(30.0, 10.0), "clear"),
    Case("the whole host is busy", lambda: _starved(99.0, 10.0, cpu_percent=97.0), "clear"),
    Case("a polling loop of an idle engine", _polling, "clear"),
    Case("a thread polls while the other half of its job works", _waits_its_turn, "clear"),
    Case("threads cannot be read", lambda: starved_server().window, "unjudged"),
]
