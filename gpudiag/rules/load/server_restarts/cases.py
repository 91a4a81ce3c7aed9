"""Situations of server-restarts and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window

SILENT: dict[str, Any] = {"metrics_ok": False, "health_ok": False, "port_open": False, "ever_answered": False}


def _starts_again(times: int, engine: dict[str, Any] | None = None, lives_minutes: float = 2) -> Window:
    """A server that loads for two minutes, ends, and is started again a minute later."""
    s = Situation()
    for number in range(times):
        pid = 4100 + number
        s.gpu(0).shows(memory_used_bytes=9 * GIB)
        s.runs({0: 9 * GIB}, pid=pid, name="llama-server", command="llama-server -m m.gguf",
               started_at=s.now, cpu_percent=100.0)  # fmt: skip
        s.serves("llama.cpp", name="llama.cpp:8080", pid=pid, gpus=[0], **{**SILENT, **(engine or {})})
        s.passes(minutes=lives_minutes)
        if number < times - 1:
            s.ends(pid).engines.clear()
            s.gpu(0).shows(memory_used_bytes=4 << 20)
            s.passes(minutes=1)
    return s.window


def _by_turns(**started_by: Any) -> Window:
    """A server is started, serves for two minutes, ends, and another is started."""
    s = Situation()
    for number in range(5):
        pid = 4100 + number
        s.gpu(0).shows(memory_used_bytes=9 * GIB)
        s.runs({0: 9 * GIB}, pid=pid, name="llama-server", command="llama-server -m m.gguf", started_at=s.now,
               **started_by)  # fmt: skip
        s.serves("llama.cpp", name="llama.cpp:8080", pid=pid, gpus=[0], **SILENT)
        s.passes(seconds=40)
        if number < 4:
            s.serves("llama.cpp", name="llama.cpp:8080", metrics_ok=True, health_ok=True, ever_answered=True)
            s.passes(minutes=2).ends(pid).engines.clear()
    return s.window


CASES = [
    Case("it starts for the fourth time", lambda: _starts_again(4), "fires", severity="warning"),
    Case("it starts for the second time", lambda: _starts_again(2), "clear"),
    Case("the fourth start succeeds", lambda: _starts_again(4, {"health_ok": True}), "clear"),
    Case("it runs for twenty minutes each time", lambda: _starts_again(3, lives_minutes=20), "clear"),
    Case(
        "it serves for two minutes, ends, and systemd starts it again",
        lambda: _by_turns(parent_name="systemd", unit="llama.service"),
        "fires",
        severity="warning",
        variant="served",
    ),
    Case(
        "a proxy loads models by turns, and each was served",
        lambda: _by_turns(parent_name="llama-swap"),
        "clear",
    ),
    Case("a person tries out its flags", lambda: _by_turns(parent_name="bash"), "clear"),
    Case("a server that waits", lambda: vllm_idle().window, "clear"),
]
