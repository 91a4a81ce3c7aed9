"""What the cases of this family share: nodes of which only kernel lines are known, and a reset."""

from __future__ import annotations

from gpudiag.kernel_lines import events_of
from gpudiag.model import PasteReading, Snapshot
from gpudiag.rules.situations import START, Situation
from gpudiag.window import Window


def pasted(*lines: str) -> Window:
    """A window of pasted kernel lines."""
    window = Window("pasted")
    window.add(
        Snapshot(
            node="pasted",
            taken_at=START,
            source="pasted",
            events=events_of(lines),
            paste=PasteReading(formats=["kernel log"]),
        )
    )
    return window


def said(kind: str, line: str) -> Window:
    """A window of one pasted error line of a tool or a program."""
    window = Window("pasted")
    paste = PasteReading(formats=["error_lines"], errors=[kind], error_lines=[line])
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", paste=paste))
    return window


def asked(s: Situation, action: int = 1) -> Situation:
    """The driver asks for something (a reset: 1) for a minute, and then for nothing."""
    s.gpu(0).shows(recovery_action=action)
    s.passes(minutes=1)
    s.gpu(0).shows(recovery_action=0, ecc_uncorrected_volatile=0, ecc_corrected_volatile=0)
    return s.passes(minutes=1)
