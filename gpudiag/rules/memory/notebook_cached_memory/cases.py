"""Situations of notebook-cached-memory and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _notebook(minutes: float = 35, cpu: float = 0.2, **gpu: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=8 * GIB, **gpu)
    s.runs(
        {0: 8 * GIB},
        pid=7100,
        name="python3",
        command="python3 -m ipykernel_launcher -f k.json",
        parent_name="jupyter-lab",
        cpu_percent=cpu,
        user="kim",
    )
    return s.passes(minutes=minutes).window


def _training_script() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=8 * GIB)
    s.runs({0: 8 * GIB}, name="python3", command="python3 train.py", cpu_percent=0.1)
    return s.passes(minutes=35).window


def _memory_not_told() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=8 * GIB)
    s.runs({0: None}, name="python3", command="python3 -m ipykernel_launcher", cpu_percent=0.1)
    return s.passes(minutes=35).window


CASES = [
    Case("an idle notebook for half an hour", _notebook, "fires", severity="info", confidence="likely"),
    Case("for six minutes so far", lambda: _notebook(minutes=6), "fires", confidence="possible"),
    Case("a cell runs on the CPU", lambda: _notebook(cpu=90.0), "clear"),
    Case(
        "a cell runs on the GPU now and then",
        lambda: _notebook(utilization_percent=[0.0] * 7 + [30.0]),
        "clear",
    ),
    Case("a script, not a notebook", _training_script, "clear"),
    Case("a reserved pool", lambda: vllm_idle().window, "clear"),
    Case("the driver does not tell its memory", _memory_not_told, "unjudged"),
]
