"""Situations of power-connector-missing and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable

LINE = "NVRM: Xid (PCI:0000:19:00): {}, pid='<unknown>', name=<unknown>, Auxiliary power"


CASES = [
    Case("Xid 54", lambda: kernel_lines(LINE.format(54)), "fires", severity="critical", confidence="proven"),
    Case(
        "the driver says it in words",
        lambda: kernel_lines(
            "NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected."
        ),
        "fires",
    ),
    Case("another fault", lambda: kernel_lines(LINE.format(79)), "clear"),
    Case("a quiet log", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
