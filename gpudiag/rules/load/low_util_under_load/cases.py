"""Situations of low-util-under-load and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, starved_server, starved_training, vllm_busy, vllm_idle
from gpudiag.window import Window


def _expected() -> Window:
    s = Situation()
    s.extra["labels"] = {"expected_busy": "true"}
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    s.runs({0: 30 * GIB}, name="python3", command="python3 job.py")
    return s.passes(minutes=6).window


def _asymmetric() -> Window:
    s = Situation(gpus=2)
    s.gpu(0).shows(memory_used_bytes=75 * GIB, utilization_percent=95.0)
    s.gpu(1).shows(memory_used_bytes=75 * GIB, utilization_percent=10.0)
    s.runs({0: 74 * GIB, 1: 74 * GIB}, pid=4121, name="VLLM::EngineCore", parent_name="vllm")
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0, 1], requests_running=8.0)
    return s.passes(minutes=6).window


def _just_loaded() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", metrics_ok=False, requests_running=None, requests_waiting=None)
    s.passes(minutes=6)
    s.gpu(0).shows(utilization_percent=60.0)
    s.serves("vllm", metrics_ok=True, requests_running=8.0, requests_waiting=0.0)
    return s.passes(minutes=2).window


def _in_bursts() -> Window:
    s = Situation()
    s.gpu(0).shows(
        memory_used_bytes=60 * GIB, utilization_percent=[95.0, 90.0, *[0.0] * 8], power_watts=200.0
    )
    s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=6).window


def _unread(**engine: Any) -> Window:
    s = starved_server(minutes=0)
    s.serves("vllm", metrics_ok=False, requests_running=None, requests_waiting=None, **engine)
    return s.passes(minutes=6).window


def _checkpoint() -> Window:
    s = starved_training(minutes=0)
    s.runs(pid=5400, write_bytes_per_second=900e6, read_bytes_per_second=1e6)
    return s.passes(minutes=6).window


def _just_begun() -> Window:
    s = Situation()
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py")
    s.gpu(0).shows(memory_used_bytes=60 * GIB)
    s.passes(minutes=8)
    s.gpu(0).shows(utilization_percent=95.0, power_watts=600.0)
    return s.passes(seconds=30).window


def _by_turns(last_rest_minutes: float) -> Window:
    """Training that works for four minutes and rests for four, as it waits for rollouts elsewhere."""
    s = Situation()
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py")
    s.gpu(0).shows(memory_used_bytes=60 * GIB)
    for rest in (4.0, 4.0, 4.0, last_rest_minutes):
        s.gpu(0).shows(utilization_percent=95.0, power_watts=600.0)
        s.passes(minutes=4).gpu(0).shows(utilization_percent=0.0, power_watts=110.0)
        s.passes(minutes=rest)
    return s.window


def _two_halves(minutes: float = 6, job: str = "4711", resting: Any = 0.0, **others: Any) -> Window:
    """Two ranks that worked by turns with each other: the first one rests now."""
    s = Situation(gpus=2)
    for rank, slurm_job in enumerate(("4711", job)):
        s.runs({rank: 60 * GIB}, pid=5400 + rank, name="python3", command="torchrun grpo.py",
               slurm_job=slurm_job, cpu_percent=30.0, write_bytes_per_second=0.0)  # fmt: skip
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=95.0, power_watts=600.0)
    s.passes(minutes=20).gpu(0).shows(utilization_percent=resting, power_watts=110.0)
    s.gpu(1).shows(**others)
    return s.passes(minutes=minutes).window


def _ends_work(minutes: float = 6, **process: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=95.0, power_watts=600.0)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py", cpu_percent=100.0)
    s.passes(minutes=20).gpu(0).shows(utilization_percent=0.0, power_watts=110.0)
    s.runs(pid=5400, **process)
    return s.passes(minutes=minutes).window


CASES = [
    Case("requests wait and the GPU idles", lambda: starved_server().window, "fires", severity="warning"),
    Case("training that was busy before", lambda: starved_training().window, "fires", variant="training"),
    Case("somebody declared that it should be busy", _expected, "fires", variant="declared"),
    Case("training that rested by turns, and rests for ten minutes now", lambda: _by_turns(10), "fires"),
    Case(
        "training that rests for four minutes by turns",
        lambda: _by_turns(4),
        "fires",
        severity="info",
        confidence="possible",
        variant="in-turns",
    ),
    Case(
        "one half of a job rests while the other half works",
        _two_halves,
        "fires",
        severity="info",
        confidence="possible",
        variant="others-work",
    ),
    Case(
        "one half of a job has rested for more than half an hour",
        lambda: _two_halves(minutes=36),
        "fires",
        severity="warning",
        variant="training",
    ),
    Case(
        "the other ranks spin while one rests",
        lambda: _two_halves(utilization_percent=100.0, power_watts=140.0),
        "fires",
        severity="warning",
        variant="training",
    ),
    Case(
        "the other GPU belongs to another job",
        lambda: _two_halves(job="4712"),
        "fires",
        severity="warning",
        variant="training",
    ),
    Case(
        "one rank is fed too late while the others work",
        lambda: _two_halves(resting=[0.0, 0.0, 80.0]),
        "fires",
        severity="warning",
        variant="training",
    ),
    Case(
        "training does nothing any more, on the CPU neither",
        lambda: _ends_work(cpu_percent=0.2, write_bytes_per_second=0.0),
        "fires",
        severity="warning",
        variant="still",
    ),
    Case(
        "training that computes on the CPU meanwhile",
        lambda: _ends_work(cpu_percent=90.0, write_bytes_per_second=0.0),
        "fires",
        severity="warning",
        variant="training",
    ),
    Case(
        "training rests for six minutes, and whether it saves its state cannot be seen",
        lambda: _ends_work(cpu_percent=30.0),
        "fires",
        severity="info",
        confidence="possible",
    ),
    Case(
        "the same for twenty minutes",
        lambda: _ends_work(minutes=20, cpu_percent=30.0),
        "fires",
        severity="warning",
    ),
    Case(
        "somebody stopped the training job",
        lambda: _ends_work(cpu_percent=0.0, state="T"),
        "fires",
        variant="stopped",
    ),
    Case("no requests: idle, not slow", lambda: vllm_idle().window, "clear"),
    Case("busy", lambda: vllm_busy().window, "clear"),
    Case("another GPU of the engine does the work", _asymmetric, "clear", gpu=1),
    Case("the job saves a checkpoint", _checkpoint, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("its server answers since two minutes", _just_loaded, "unjudged"),
    Case(
        "a training job in bursts ever since",
        _in_bursts,
        "fires",
        severity="warning",
        variant="training",
    ),
    Case("the engine cannot be read", _unread, "unjudged"),
    Case("watched for a minute", lambda: starved_server(minutes=1).window, "unjudged"),
    Case("a training that has just begun to work", _just_begun, "clear"),
]
