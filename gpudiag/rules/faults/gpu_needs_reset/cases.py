"""Situations of gpu-needs-reset and its look-alikes."""

from gpudiag.model import PasteReading, Snapshot
from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import START, Situation
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to {}"


def _asks(**values: object) -> Window:
    s = Situation().passes(minutes=1)
    s.gpu(0).shows(**values)
    return s.passes(minutes=1).window


def _reset_since() -> Window:
    s = Situation()
    s.logs(
        "xid", LINE.format("0x1 (GPU Reset Required)"), number=154, bus_id="0000:19:00", action="gpu_reset"
    )
    return s.passes(minutes=1).window


def _unknown() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("recovery_action")
    return s.passes(minutes=1).window


def _tool() -> Window:
    window = Window("pasted")
    line = "Unable to determine the device handle: GPU requires reset"
    paste = PasteReading(formats=["error"], errors=["reset_required"], error_lines=[line])
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", paste=paste))
    return window


CASES = [
    Case("a pasted error line asks for it", _tool, "fires", severity="critical"),
    Case(
        "NVML asks for a reset",
        lambda: _asks(recovery_action=1),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case("drain, then reset", lambda: _asks(recovery_action=4), "fires"),
    Case("a reboot is asked for", lambda: _asks(recovery_action=2), "fires", variant="reboot"),
    Case("peers are to be drained", lambda: _asks(recovery_action=3), "fires", variant="drain-p2p"),
    Case("the memory domain is to be recovered", lambda: _asks(recovery_action=5), "fires", variant="imex"),
    Case("an action newer than this program", lambda: _asks(recovery_action=42), "fires", variant="other"),
    Case("calls fail until a reset", lambda: _asks(error="reset_required", recovery_action=None), "fires"),
    Case(
        "a pasted Xid 154 names the action",
        lambda: kernel_lines(LINE.format("0x4 (Drain and Reset)")),
        "fires",
    ),
    Case("the action was taken back", lambda: kernel_lines(LINE.format("0x0 (None)")), "clear"),
    Case("the log asked for it, and NVML says that it was done", _reset_since, "clear"),
    Case("nothing is asked", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("an old driver and no log", _unknown, "unjudged"),
]
