"""Situations of leaked-memory-no-process and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _held(minutes: float = 18, process: dict[str, Any] | None = None, **agent: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=22 * GIB)
    for name, value in agent.items():
        setattr(s.agent, name, value)
    if process is not None:
        s.runs(pid=9100, **process)
    return s.passes(minutes=minutes).window


CASES = [
    Case("22 GiB and nobody has the device open", _held, "fires", severity="critical"),
    Case(
        "a process that NVML does not list has it open",
        lambda: _held(process={"open_devices": [0], "in_nvml": False, "name": "python3"}),
        "clear",
    ),
    Case("a reserved pool", lambda: vllm_idle(minutes=18).window, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=18).window, "clear"),
    Case(
        "pasted text never proves it",
        lambda: pasted(process_list="none", memory_used_bytes=22 * GIB),
        "clear",
    ),
    Case("the agent is not root", lambda: _held(uid=1000), "unjudged"),
    Case("for six minutes so far", lambda: _held(minutes=6), "unjudged"),
]
