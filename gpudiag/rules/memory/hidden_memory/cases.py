"""Situations of hidden-memory and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _hidden(gib: int = 30, **agent: Any) -> Window:
    s = Situation()
    for name, value in agent.items():
        setattr(s.agent, name, value)
    s.gpu(0).shows(memory_used_bytes=gib * GIB)
    s.runs({0: 4 * GIB}, name="python3", command="python3 train.py")
    return s.passes(minutes=6).window


def _leaving() -> Window:
    s = Situation()
    s.runs({0: 30 * GIB}, pid=9000, name="python3", command="python3 train.py")
    s.gpu(0).shows(memory_used_bytes=31 * GIB)
    s.passes(minutes=5)
    s.ends(9000)
    s.passes(seconds=10)
    s.gpu(0).shows(memory_used_bytes=4 << 20)
    return s.passes(seconds=20).window


def _wddm() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    s.runs({0: None}, name="python.exe")
    return s.passes(minutes=6).window


def _mig() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB, mig_mode=True)
    return s.passes(minutes=6).window


CASES = [
    Case("more is used than the processes hold", _hidden, "fires", severity="warning", confidence="likely"),
    Case(
        "pasted: no process runs, it says",
        lambda: pasted(process_list="none", memory_used_bytes=7 * GIB),
        "fires",
        confidence="possible",
    ),
    Case("all is accounted for", lambda: vllm_idle().window, "clear"),
    Case("a process just left", _leaving, "clear"),
    Case("MIG memory belongs to its slices", _mig, "clear"),
    Case("the agent does not see all processes", lambda: _hidden(sees_all_processes=False), "unjudged"),
    Case("the driver model does not tell", _wddm, "unjudged"),
    Case(
        "pasted: an empty list means hidden, not none",
        lambda: pasted(process_list="empty", memory_used_bytes=7 * GIB),
        "unjudged",
    ),
]
