"""Nodes of which nothing but kernel lines is known, for the cases of this family."""

from __future__ import annotations

from gpudiag.kernel_lines import events_of
from gpudiag.model import PasteReading, Snapshot
from gpudiag.rules.situations import START
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
