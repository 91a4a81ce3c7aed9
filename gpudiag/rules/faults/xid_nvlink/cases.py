"""Situations of xid-nvlink and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable
from gpudiag.window import Window

FATAL = "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)"
SOFT = "NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL  Nonfatal XC0 i0 Link 01 (0x00000001 0x00000000)"
NAMED = "NVRM: Xid (PCI:0000:dc:00): 45, pid=18990, name=python3, Ch 00000001 caused by previous Xid 149"


def _logged(minutes_after_boot: float) -> Window:
    s = Situation().passes(minutes=1)
    s.machine(booted_at=s.now - 60 * minutes_after_boot)
    s.logs("xid", FATAL, number=149, bus_id="0000:19:00", fatal=True)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "a fatal event of a link",
        lambda: kernel_lines(FATAL),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case("a non-fatal one", lambda: kernel_lines(SOFT), "fires", severity="warning"),
    Case(
        "only its consequence was logged, and names it",
        lambda: kernel_lines(NAMED),
        "fires",
        severity="critical",
        confidence="likely",
        variant="named",
    ),
    Case("in the middle of a day", lambda: _logged(600), "fires", severity="critical"),
    Case(
        "while the links come up after boot",
        lambda: _logged(3),
        "fires",
        severity="info",
        variant="starting",
    ),
    Case("clean-up that names no cause", lambda: kernel_lines(NAMED.split(" caused")[0]), "clear"),
    Case("a memory error", lambda: kernel_lines(FATAL.replace("149", "48")), "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
