"""Situations of gsp-timeout and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable

LINE = (
    "[{}.5] NVRM: Xid (PCI:0000:61:00): 119, pid=136522, name=nvidia-smi, Timeout waiting for RPC from GSP!"
)


CASES = [
    Case(
        "every call waits 45 seconds",
        lambda: kernel_lines(*(LINE.format(100 + 45 * i) for i in range(6))),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case(
        "a line without a number",
        lambda: kernel_lines("NVRM: GPU0 _kgspLogRpcSanityCheckFailure: GSP RPC error"),
        "fires",
        variant="line",
        confidence="likely",
    ),
    Case(
        "the firmware could not even be started",
        lambda: kernel_lines("NVRM: RmInitAdapter: Cannot initialize GSP firmware RM"),
        "clear",
    ),
    Case("a page fault of a program", lambda: kernel_lines(LINE.format(1).replace("119", "31")), "clear"),
    Case("a quiet log", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
