"""Situations of sxid-nvswitch and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import kernel_log_unreadable

FATAL = "nvidia-nvswitch{}: SXid (PCI:0000:{}:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"
SOFT = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO"
LOST = "NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


CASES = [
    Case(
        "a fatal link fault of a switch",
        lambda: kernel_lines(FATAL.format(1, "06")),
        "fires",
        severity="critical",
        confidence="proven",
        gpu=None,
    ),
    Case(
        "two switches, one complaint",
        lambda: kernel_lines(FATAL.format(1, "06"), FATAL.format(0, "05")),
        "fires",
        gpu=None,
    ),
    Case("a non-fatal event", lambda: kernel_lines(SOFT), "clear", gpu=None),
    Case(
        "the links to a GPU that was lost just before",
        lambda: kernel_lines(LOST, FATAL.format(1, "06")),
        "clear",
        gpu=None,
    ),
    Case("a lost GPU alone", lambda: kernel_lines(LOST), "clear", gpu=None),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged", gpu=None),
]
