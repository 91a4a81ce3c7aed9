"""Situations of xid-hardware and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.faults.asked import asked
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable
from gpudiag.window import Window

CHANGED = "NVRM: Xid (PCI:0000:19:00): 154, GPU recovery action changed {}"
LINE = "NVRM: Xid (PCI:0000:19:00): {}, pid='<unknown>', name=<unknown>, {}"


def _logged(number: int, minutes_after_boot: float = 600) -> Window:
    s = Situation(gpus=2).passes(minutes=5)
    s.machine(booted_at=s.now - 60 * minutes_after_boot)
    s.logs("xid", LINE.format(number, "some fault"), number=number, bus_id="0000:19:00")
    return s.passes(minutes=1).window


def _reset(again: bool = False) -> Window:
    """A controller halted, and the GPU was reset; then it may halt again."""
    s = Situation(gpus=2).passes(minutes=5)
    s.logs("xid", LINE.format(62, "some fault"), number=62, bus_id="0000:19:00")
    asked(s.passes(minutes=1))
    if again:
        s.logs("xid", LINE.format(62, "some fault"), number=62, bus_id="0000:19:00").passes(minutes=1)
    return s.window


def _by_log() -> Window:
    """The same where only the log tells what the driver asks for."""
    s = Situation(gpus=2).passes(minutes=5)
    s.gpu(0).hides("recovery_action")
    s.logs("xid", LINE.format(62, "some fault"), number=62, bus_id="0000:19:00")
    s.logs("xid", CHANGED.format("to 0x1"), number=154, bus_id="0000:19:00", action="gpu_reset")
    s.passes(minutes=1)
    s.logs("xid", CHANGED.format("from 0x1 to 0x0"), number=154, bus_id="0000:19:00", action="none")
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
        lambda: kernel_lines(LINE.format(158, "GPU Fatal Timeout")),
        "fires",
        severity="critical",
    ),
    Case(
        "link training failed once while the machine started",
        lambda: _logged(136, 3),
        "fires",
        severity="info",
        variant="starting",
    ),
    Case("it came again after the reset", lambda: _reset(again=True), "fires"),
    Case("the GPU was reset since, as the driver confirms", _reset, "clear"),
    Case("the log alone tells of the reset", _by_log, "clear"),
    Case("a page fault of the program", lambda: _logged(31), "clear"),
    Case("a lost GPU has a rule of its own", lambda: _logged(79), "clear"),
    Case("an unknown number is not guessed at", lambda: _logged(999), "clear"),
    Case("a quiet log", lambda: Situation().passes(minutes=5).window, "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
