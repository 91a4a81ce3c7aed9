"""Situations of orphaned-engine and its look-alikes."""

from typing import Any

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _worker(engine: dict[str, Any] | None = None, **process: Any) -> Window:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB)
    known = {"pid": 4121, "name": "VLLM::EngineCore", "command": "VLLM::EngineCore", "parent_pid": 1}
    s.runs({0: 74 * GIB}, **{**known, "parent_name": "systemd", **process})
    if engine is not None:
        s.serves("vllm", worker_pids=[4121], gpus=[0], **engine)
    return s.passes(minutes=6).window


DEAD: dict[str, Any] = {"health_ok": False, "metrics_ok": False, "port_open": False, "parent_alive": False}
RAY: dict[str, Any] = {
    "name": "ray::RayWorkerWrapper",
    "command": "ray::RayWorkerWrapper",
    "parent_name": "raylet",
}


def _pasted() -> Window:
    worker = ProcessReading(pid=7637, parent_pid=1, state="R", name="VLLM::EngineCore", in_nvml=None)
    return pasted_with([worker], gpus=0)


def _table(hints: list[str]) -> Window:
    use = GpuUse(gpu=0, memory_used_bytes=74 * GIB, type="C")
    worker = ProcessReading(pid=7637, name="VLLM::EngineCore", in_nvml=True, gpus=[use])
    return pasted_with([worker], hints=hints, memory_used_bytes=75 * GIB)


CASES = [
    Case(
        "its parent is init and its port is closed",
        lambda: _worker(DEAD),
        "fires",
        gpu=None,
        severity="critical",
        confidence="proven",
    ),
    Case(
        "its parent is a shell; no engine is known",
        lambda: _worker(parent_name="bash", parent_pid=900),
        "fires",
        confidence="likely",
    ),
    Case("a pasted process list: parent 1", _pasted, "fires", variant="memory-unseen"),
    Case(
        "a table, and words of a server that ended and memory that stayed",
        lambda: _table(["ended", "still_held"]),
        "fires",
        gpu=None,
        severity="warning",
        confidence="possible",
        variant="told",
    ),
    Case("a table, and words of something that ended", lambda: _table(["ended"]), "clear"),
    Case("a ray worker whose server stopped answering", lambda: _worker(DEAD, **RAY), "fires"),
    Case(
        "a script makes the engine itself",
        lambda: _worker(DEAD, parent_name="python3", parent_pid=900, parents=["python3", "bash", "sshd"]),
        "clear",
    ),
    Case(
        "a worker below an orphaned one",
        lambda: _worker(DEAD, parent_name="VLLM::EngineCor", parents=["VLLM::EngineCor", "systemd"]),
        "fires",
    ),
    Case("a server waits for requests", lambda: vllm_idle().window, "clear"),
    Case("adopted, but the server answers", lambda: _worker({"health_ok": True}), "clear"),
    Case("a ray worker's parent is raylet", lambda: _worker(**RAY), "clear"),
    Case(
        "a server started by systemd is no worker",
        lambda: _worker(name="vllm", command="vllm serve m"),
        "clear",
    ),
]
