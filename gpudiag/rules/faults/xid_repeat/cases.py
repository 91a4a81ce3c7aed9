"""Situations of xid-repeat and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.faults.asked import asked
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation, kernel_log_unreadable
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0000:{}:00): {}, pid='<unknown>', name=<unknown>, Timeout waiting for RPC from GSP!"


def _twice(number: int = 119, bus: str = "19", hours: float = 20, reboot: bool = True) -> Window:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", LINE.format("19", 119), number=119, bus_id="0000:19:00").reports()
    s.is_silent(hours * 3600)
    if reboot:
        s.machine(boot_id="boot-2", booted_at=s.now - 600)
    s.logs("xid", LINE.format(bus, number), number=number, bus_id=f"0000:{bus}:00")
    return s.passes(minutes=1).window


def _reset_once() -> Window:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", LINE.format("19", 119), number=119, bus_id="0000:19:00").passes(minutes=1)
    asked(s).is_silent(3600)
    s.logs("xid", LINE.format("19", 119), number=119, bus_id="0000:19:00")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "the firmware hung again a day after the reboot",
        _twice,
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case("it hung again after a reset", _reset_once, "fires", severity="critical"),
    Case("another card of the same node", lambda: _twice(bus="1a"), "clear"),
    Case("another Xid", lambda: _twice(number=79), "clear"),
    Case("without a repair in between it is one fault that goes on", lambda: _twice(reboot=False), "clear"),
    Case("two weeks apart", lambda: _twice(hours=14 * 24), "clear"),
    Case("the same line again and again", lambda: kernel_lines(*[LINE.format("61", 119)] * 6), "clear"),
    Case("the log cannot be read", kernel_log_unreadable, "unjudged"),
]
