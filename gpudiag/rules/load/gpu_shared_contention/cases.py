"""Situations of gpu-shared-contention and its look-alikes."""

from typing import Any

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation, vllm_busy
from gpudiag.window import Window


def _use(percent: float | None) -> list[GpuUse]:
    return [GpuUse(gpu=0, memory_used_bytes=20 * GIB, sm_percent=percent, type="C")]


def _share(first: float | None, second: float | None, same: bool = False, name: str = "python3") -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=40 * GIB, utilization_percent=96.0)
    s.runs(pid=6500, name="python3", parent_pid=10, gpus=_use(first))
    s.runs(pid=6501, name=name, parent_pid=10 if same else 11, gpus=_use(second))
    return s.passes(minutes=6).window


def _pasted(*percents: float) -> Window:
    processes: list[Any] = [
        ProcessReading(pid=6500 + i, name=f"job{i}", gpus=_use(percent)) for i, percent in enumerate(percents)
    ]
    return pasted_with(processes, utilization_percent=97.0, memory_used_bytes=40 * GIB)


CASES = [
    Case(
        "two programs at 50 and 40 %",
        lambda: _share(50.0, 40.0),
        "fires",
        severity="info",
        confidence="likely",
    ),
    Case("in a pasted pmon sample", lambda: _pasted(48.0, 45.0), "fires", confidence="possible"),
    Case("one works, one rests", lambda: _share(90.0, 1.0), "clear"),
    Case("two processes of one program", lambda: _share(50.0, 40.0, same=True), "clear"),
    Case("the desktop draws beside it", lambda: _share(60.0, 20.0, name="Xorg"), "clear"),
    Case("one program alone", lambda: vllm_busy().window, "clear"),
    Case("shares are not told", lambda: _share(None, None), "clear"),
]
