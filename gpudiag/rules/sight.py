"""How much was seen of a GPU: what a rule says is only as sure as that."""

from __future__ import annotations

from gpudiag.model import Confidence
from gpudiag.window import W5, GpuWindow, NotMeasured


def seen_seconds(gpu: GpuWindow, span: float = W5) -> float | None:
    """The span that evidence covers, at most `span`; None for one sample."""
    try:
        stats = gpu.over("memory_used_bytes", span)
    except NotMeasured:
        return None
    return None if stats.n < 2 else min(span, stats.seconds)


NOTHING_BYTES = 32 << 20
"""Less than the context of any program that computes."""


def holds_nothing(gpu: GpuWindow) -> bool:
    """Whether a pasted sample shows no memory in use and no process: nothing computes here.

    A driver that starts for the question itself shows up to 100 % in its first sample.
    """
    if not gpu.node.pasted:
        return False
    used = gpu.reading.memory_used_bytes
    return used is not None and used < NOTHING_BYTES and not gpu.processes


def confidence(gpu: GpuWindow, span: float = W5, full: Confidence = "likely") -> Confidence:
    """`full` when the samples cover the span; on a shorter look at most possible."""
    return full if gpu.covers(span) else "possible"
