"""Situations of two-engines-one-gpu and its look-alikes."""

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _two(first: float | None, second: float | None) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=72 * GIB)
    for i, share in enumerate((first, second)):
        s.runs({0: 36 * GIB}, pid=4100 + i, name="VLLM::EngineCore", parent_pid=4000 + i, parent_name="vllm")
        s.serves(
            "vllm", name=f"vllm:{8000 + i}", worker_pids=[4100 + i], gpus=[0], gpu_memory_utilization=share
        )
    return s.passes(minutes=6).window


def _pasted(*gpus: int) -> Window:
    processes = [
        ProcessReading(
            pid=800 + i,
            name="sglang::scheduler",
            gpus=[GpuUse(gpu=gpu, memory_used_bytes=30 * GIB, type="C")],
        )
        for i, gpu in enumerate(gpus)
    ]
    return pasted_with(processes, gpus=2, memory_used_bytes=61 * GIB)


def _one_engine_two_processes() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=72 * GIB)
    for pid in (4201, 4202):
        s.runs({0: 36 * GIB}, pid=pid, name="sglang::scheduler", parent_pid=4200, parent_name="python3")
    return s.passes(minutes=6).window


CASES = [
    Case("0.9 and 0.5 of one GPU", lambda: _two(0.9, 0.5), "fires", severity="warning", confidence="proven"),
    Case("shares that just fit", lambda: _two(0.49, 0.49), "fires", severity="info"),
    Case(
        "two engines in one pasted sample",
        lambda: _pasted(0, 0),
        "fires",
        severity="info",
        variant="shares-unseen",
    ),
    Case("shares are not told", lambda: _two(None, 0.5), "fires", variant="shares-unseen"),
    Case("0.4 and 0.4", lambda: _two(0.4, 0.4), "clear"),
    Case("each on a GPU of its own", lambda: _pasted(0, 1), "clear"),
    Case("two processes of one engine", _one_engine_two_processes, "clear"),
    Case("one engine", lambda: vllm_idle().window, "clear"),
]
