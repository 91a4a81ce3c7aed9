"""Situations of stuck-job and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample, runs, sample, shown
from gpudiag.rules.situations import GIB, Situation, vllm_processes
from gpudiag.window import Window

SPIN: dict[str, Any] = {
    "utilization_percent": 100.0,
    "memory_utilization_percent": 0.0,
    "power_watts": 141.0,
    "sm_clock_megahertz": 1980.0,
    "clocks_event_reasons": 0,
    "memory_used_bytes": 60 * GIB,
    "dram_active_ratio": 0.0,
    "tensor_active_ratio": 0.0,
}


def _ranks(s: Situation) -> None:
    for rank in s.gpus:
        s.runs(
            {rank: 59 * GIB},
            pid=7200 + rank,
            name="python3",
            command="python3 train.py",
            parent_pid=7190,
            slurm_job="48213",
            ranks={"RANK": str(rank)},
        )


def _hung(minutes: float = 20, quiet: int | None = 3, gpus: int = 4, **values: object) -> Window:
    s = Situation(gpus=gpus)
    _ranks(s)
    s.all_gpus(**{**SPIN, **values})
    if quiet is not None:
        s.gpu(quiet).shows(utilization_percent=0.0, power_watts=112.0)
    return s.passes(minutes=minutes).window


def _tensor_parallel(metrics: bool = True) -> Window:
    s = Situation(gpus=2)
    vllm_processes(s)
    s.all_gpus(**SPIN)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0, 1], metrics_ok=metrics)
    return s.passes(minutes=20).window


def _triton(ended_each_second: float) -> Window:
    s = Situation()
    s.gpu(0).shows(**SPIN)
    s.runs({0: 60 * GIB}, pid=4100, name="tritonserver", command="tritonserver --model-repository=/models")
    s.serves("triton", {"requests_finished_total": ended_each_second}, pid=4100, gpus=[0],
             requests_running=None, generation_tokens_total=None)  # fmt: skip
    return s.passes(minutes=20).window


def _unknown() -> Window:
    s = Situation()
    s.gpu(0).shows(**SPIN).hides("memory_utilization_percent")
    return s.passes(minutes=20).window


def _table(*loads: float, name: str = "python") -> Window:
    """A table of `nvidia-smi`: H100s that hold the same, each with its load, at little power."""
    card = {"name": "NVIDIA H100 80GB HBM3", "power_limit_watts": 700.0, "memory_total_bytes": 80 * GIB}
    gpus = (
        shown(index, **card, utilization_percent=load, power_watts=122.0 if load else 75.0,
              memory_used_bytes=66 * GIB)
        for index, load in enumerate(loads)
    )  # fmt: skip
    processes = (
        runs(pid=3000 + index, gpu=index, name=name, memory_used_bytes=65 * GIB)
        for index in range(len(loads))
    )
    return sample(*gpus, processes=tuple(processes))


CASES = [
    Case(
        "ranks spin and one of them is quiet",
        _hung,
        "fires",
        severity="critical",
        confidence="likely",
        variant="suspect",
    ),
    Case("all ranks spin", lambda: _hung(quiet=None), "fires", severity="critical", confidence="likely"),
    Case(
        "six minutes are not confirmed yet",
        lambda: _hung(minutes=6, quiet=None),
        "fires",
        severity="warning",
        confidence="possible",
    ),
    Case(
        "one GPU alone spins",
        lambda: _hung(quiet=None, gpus=1),
        "fires",
        severity="warning",
        confidence="possible",
        variant="spinning-kernel",
    ),
    Case(
        "a Triton server spins and ends no request",
        lambda: _triton(0.0),
        "fires",
        severity="warning",
        variant="spinning-kernel",
    ),
    Case("a Triton server ends requests", lambda: _triton(3.0), "clear"),
    Case(
        "one pasted sample",
        lambda: one_sample(**SPIN),
        "fires",
        severity="warning",
        confidence="possible",
        variant="short",
    ),
    Case(
        "a pasted table: all spin but one, which holds as much and rests",
        lambda: _table(100.0, 100.0, 100.0, 0.0),
        "fires",
        severity="warning",
        confidence="possible",
        variant="one-rests",
    ),
    Case("a pasted table: two spin and two rest", lambda: _table(100.0, 100.0, 0.0, 0.0), "unjudged"),
    Case(
        "a pasted table: one of the others works by half", lambda: _table(100.0, 100.0, 50.0, 0.0), "unjudged"
    ),
    Case(
        "a pasted table of servers, one of which is asked nothing",
        lambda: _table(100.0, 100.0, 0.0, name="VLLM::EngineCore"),
        "unjudged",
    ),
    Case(
        "a real load", lambda: _hung(quiet=None, power_watts=560.0, memory_utilization_percent=40.0), "clear"
    ),
    Case(
        "little power, and the memory is read all the time",
        lambda: _hung(quiet=None, memory_utilization_percent=30.0),
        "clear",
    ),
    Case(
        "little power, and the tensor cores work", lambda: _hung(quiet=None, tensor_active_ratio=0.2), "clear"
    ),
    Case("bytes go over NVLink", lambda: _hung(quiet=None, nvlink_bytes_per_second=4e10), "clear"),
    Case(
        "the power swings with the work",
        lambda: _hung(quiet=None, power_watts=[90.0] * 60 + [190.0] * 60),
        "clear",
    ),
    Case("an idle engine spins over tensor parallel", _tensor_parallel, "clear"),
    Case(
        "an engine that spins, and whose counters cannot be read", lambda: _tensor_parallel(False), "unjudged"
    ),
    Case("the quiet GPU itself", _hung, "clear", gpu=3),
    Case("memory traffic cannot be read", _unknown, "unjudged"),
]
