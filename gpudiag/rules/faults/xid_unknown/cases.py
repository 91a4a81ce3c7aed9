"""Situations of xid-unknown and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import kernel_log_unreadable

LINE = "NVRM: Xid (PCI:0000:19:00): {}, pid='<unknown>', name=<unknown>, something new"


CASES = [
    Case(
        "a number newer than the catalogue",
        lambda: kernel_lines(LINE.format(185)),
        "fires",
        severity="info",
        confidence="proven",
    ),
    Case("a number that the catalogue marks as unused", lambda: kernel_lines(LINE.format(50)), "fires"),
    Case(
        "in the catalogue, and nothing more is known of it",
        lambda: kernel_lines(LINE.format(93)),
        "fires",
        variant="listed",
    ),
    Case("a number with a page of its own", lambda: kernel_lines(LINE.format(79)), "clear"),
    Case(
        "the number of an NVSwitch",
        lambda: kernel_lines("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 4"),
        "clear",
    ),
    Case(
        "a line that only mentions one",
        lambda: kernel_lines("NVRM: GPU 0000:19:00.0: RmInitAdapter failed! Xid 185"),
        "clear",
    ),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
