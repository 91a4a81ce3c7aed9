"""How much was seen of a GPU: what a rule says is only as sure as that."""

from __future__ import annotations

from gpudiag.model import Confidence
from gpudiag.window import W5, GpuWindow, NotMeasured


def seen_seconds(gpu: GpuWindow, span: float = W5) -> float | None:
    """The span that evidence covers, at most `span`; None for one sample."""
    try:
        stats = gpu.track.over("memory_used_bytes", span)
    except NotMeasured:
        return None
    return None if stats.n < 2 else min(span, stats.seconds)


def confidence(gpu: GpuWindow, span: float = W5, full: Confidence = "likely") -> Confidence:
    """`full` when the samples cover the span; on a shorter look at most possible."""
    return full if gpu.covers(span) else "possible"
