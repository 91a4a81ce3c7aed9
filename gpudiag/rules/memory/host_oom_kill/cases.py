"""Situations of host-oom-kill and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window

LINE = "Out of memory: Killed process 5700 (python3) total-vm:512000000kB, anon-rss:498000000kB"


def _killed(pid: int = 5700, minutes_later: float = 1, kind: str = "oom_kill") -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=20 * GIB)
    s.runs({0: 20 * GIB}, pid=5700, name="python3", command="torchrun train.py", slurm_job="77")
    s.passes(minutes=6).ends(5700)
    s.gpu(0).shows(memory_used_bytes=4 << 20)
    s.logs(kind, LINE.replace("5700", str(pid)), pid=pid, process="python3")
    return s.passes(minutes=minutes_later).window


CASES = [
    Case(
        "the training process was killed",
        _killed,
        "fires",
        severity="critical",
        confidence="proven",
        gpu=None,
    ),
    Case(
        "a pasted line tells of a Python program",
        lambda: kernel_lines(LINE),
        "fires",
        severity="warning",
        confidence="possible",
        variant="line",
        gpu=None,
    ),
    Case("another process was killed", lambda: _killed(pid=31), "clear"),
    Case(
        "a pasted line tells of a browser", lambda: kernel_lines(LINE.replace("python3", "chrome")), "clear"
    ),
    Case("two hours ago", lambda: _killed(minutes_later=120), "clear"),
    Case("it ended, and nothing was killed", lambda: _killed(kind="nvrm"), "clear"),
]
