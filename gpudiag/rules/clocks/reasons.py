"""How long a clocks event reason held, from the sampled bits and from the driver's own counters."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiag.model import CLOCKS_EVENT, Evidence
from gpudiag.rule import calculated, measured
from gpudiag.window import W5, GpuWindow, NotMeasured


@dataclass(frozen=True, slots=True)
class Held:
    """A reason that lasted: the evidence, and whether samples were enough to be sure."""

    evidence: tuple[Evidence, ...]
    ratio: float
    enough: bool
    by_counter: bool = False


def lasting(
    gpu: GpuWindow, reason: str, counter: str | None, min_samples: float, min_counted_ratio: float
) -> Held | None:
    """The reason, if it was set in at least `min_samples` samples (one a second) of the last five minutes.

    The counter of nanoseconds speaks where it covers at least `min_counted_ratio` of the span. In one pasted
    sample a set bit is enough, and `enough` is false.
    """
    if gpu.node.pasted and gpu.over(reason, W5).n < min_samples:
        is_set = bool(gpu.now("clocks_event_reasons") & CLOCKS_EVENT[reason])
        return Held((measured("active_now", True),), 1.0, False) if is_set else None
    stats = gpu.over(reason, W5)
    if stats.mean == 0 and not (counter and getattr(gpu.reading, counter)):
        return None
    span = min(stats.seconds, W5) or 1.0
    if stats.mean * span >= min_samples:
        return Held((measured("active_ratio", stats.mean, window=span),), stats.mean, gpu.covers(W5))
    counted = _counted(gpu, counter)
    if counted is not None and counted >= min_counted_ratio * span and gpu.covers(W5):
        evidence = (calculated("active_seconds", counted, window=span, source="NVML counter"),)
        return Held(evidence, counted / span, True, by_counter=True)
    return None


def _counted(gpu: GpuWindow, counter: str | None) -> float | None:
    """Seconds that the driver counted in the last five minutes; None where it does not count."""
    if counter is None:
        return None
    try:
        return gpu.rise(counter, W5) / 1e9
    except NotMeasured:
        return None


def lower_limit(gpu: GpuWindow) -> str:
    """A power limit a fifth below the one in force, for a command; WATTS where none was seen."""
    limit = gpu.reading.power_limit_watts
    return "WATTS" if limit is None else f"{0.8 * limit:.0f}"


def now_or_none(gpu: GpuWindow, name: str) -> float | None:
    """The latest value, or None: for what sharpens an answer and does not decide it."""
    value = getattr(gpu.reading, name)
    return None if value is None else float(value)


def siblings_with(gpu: GpuWindow, reason: str) -> int:
    """How many other GPUs of the node show the same reason right now."""
    bit = CLOCKS_EVENT[reason]
    others = (g.reading.clocks_event_reasons for g in gpu.node.gpus.values() if g is not gpu)
    return sum(bool(mask is not None and mask & bit) for mask in others)


def is_active(gpu: GpuWindow, *reasons: str) -> bool:
    """Whether one of the reasons is set right now; raises NotMeasured."""
    mask = gpu.now("clocks_event_reasons")
    return any(mask & CLOCKS_EVENT[reason] for reason in reasons)


MOBILE = ("laptop", "max-q", "mobile", "notebook")


def is_mobile(gpu: GpuWindow) -> bool:
    """Whether it is a laptop's, whose limits move: it shares its power with the processor."""
    return any(word in (gpu.reading.name or "").lower() for word in MOBILE)
