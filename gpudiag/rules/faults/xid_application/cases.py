"""Situations of xid-application and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0000:19:00): {}, pid={}, name=python3, {}"


def _logged(*numbers_and_pids: tuple[int, int], minutes_ago: float = 0) -> Window:
    s = Situation().passes(minutes=1)
    for number, pid in numbers_and_pids:
        s.logs(
            "xid",
            LINE.format(number, pid, "…"),
            number=number,
            bus_id="0000:19:00",
            pid=pid,
            process="python3",
        )
    return s.passes(minutes=1 + minutes_ago).window


CASES = [
    Case(
        "a page fault of one program",
        lambda: _logged((31, 4242)),
        "fires",
        severity="info",
        confidence="likely",
    ),
    Case(
        "an exception and its clean-up in pasted text",
        lambda: kernel_lines(LINE.format(13, 7, "Out Of Range Address"), LINE.format(43, 7, "Ch 8")),
        "fires",
        severity="info",
    ),
    Case(
        "the old form names no process",
        lambda: kernel_lines("NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000000"),
        "fires",
    ),
    Case(
        "clean-up after a job was killed",
        lambda: _logged((45, 4242)),
        "fires",
        severity="info",
        variant="cleanup",
    ),
    Case(
        "three different programs on one GPU",
        lambda: _logged((13, 1), (31, 2), (13, 3)),
        "fires",
        severity="warning",
        variant="many-programs",
        confidence="possible",
    ),
    Case(
        "clean-up right after an uncorrectable error is its consequence",
        lambda: _logged((48, 9), (45, 9)),
        "clear",
    ),
    Case(
        "clean-up whose line names another Xid",
        lambda: kernel_lines(LINE.format(45, 9, "Ch 1 caused by previous Xid 149")),
        "clear",
    ),
    Case("a hardware fault", lambda: _logged((62, 4242)), "clear"),
    Case("an hour and a half later it is history", lambda: _logged((31, 4242), minutes_ago=90), "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
