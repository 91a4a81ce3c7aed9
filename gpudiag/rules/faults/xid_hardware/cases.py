"""Situations of xid-hardware and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.faults.lines import pasted
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0000:19:00): {}, pid='<unknown>', name=<unknown>, {}"


def _logged(number: int, minutes_after_boot: float = 600) -> Window:
    s = Situation(gpus=2).passes(minutes=5)
    s.machine(booted_at=s.now - 60 * minutes_after_boot)
    s.logs("xid", LINE.format(number, "some fault"), number=number, bus_id="0000:19:00")
    return s.passes(minutes=1).window


def _unreadable() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    return s.passes(minutes=1).window


CASES = [
    Case("a micro-controller halted", lambda: _logged(62), "fires", severity="critical", confidence="proven"),
    Case(
        "a link between CPU and GPU had an error",
        lambda: _logged(121),
        "fires",
        severity="warning",
        variant="watch",
    ),
    Case(
        "a fatal timeout in pasted text",
        lambda: pasted(LINE.format(158, "GPU Fatal Timeout")),
        "fires",
        severity="critical",
    ),
    Case(
        "link training failed once while the machine started",
        lambda: _logged(136, 3),
        "fires",
        severity="info",
    ),
    Case("a page fault of the program", lambda: _logged(31), "clear"),
    Case("a lost GPU has a rule of its own", lambda: _logged(79), "clear"),
    Case("an unknown number is not guessed at", lambda: _logged(999), "clear"),
    Case("a quiet log", lambda: Situation().passes(minutes=5).window, "clear"),
    Case("the log cannot be read", _unreadable, "unjudged"),
]
