"""A signal from outside, usually the power supply, brakes the GPUs."""

from gpudiag.rule import THERMAL, Fires, calculated, rule
from gpudiag.rules.clocks.reasons import Held, lasting
from gpudiag.window import W5, GpuWindow, NotMeasured, Window


@rule(
    severity="critical",
    rank=THERMAL,
    given=("slowed",),
    confidence="proven",
    explains=("clocks-stuck-low", "thermal-sw-slowdown", "busy-but-inefficient"),
)
def power_brake(node: Window, *, min_samples: int = 3, min_counted_ratio: float = 0.017) -> Fires | None:
    """The external power brake signal holds the clocks of at least one GPU down."""
    braked: dict[int, Held] = {}
    missing: NotMeasured | None = None
    for gpu in node.gpus.values():
        if not _maybe(gpu):
            continue
        try:
            held = lasting(
                gpu, "power_brake", "throttle_power_brake_nanoseconds", min_samples, min_counted_ratio
            )
        except NotMeasured as absent:
            missing = absent.with_traceback(None)
            continue
        if held is not None:
            braked[gpu.index] = held
    if not braked:
        if missing is not None:
            raise missing
        return None
    return _of(node, braked)


def _maybe(gpu: GpuWindow) -> bool:
    """A cheap look: the bit or the counter is there, or cannot be read."""
    reading = gpu.reading
    if not gpu.present or reading.error:
        return False
    mask = reading.clocks_event_reasons
    if mask is None or mask & 0x80 or reading.throttle_power_brake_nanoseconds:
        return True
    return gpu.slowed_within(W5)


def _of(node: Window, braked: dict[int, Held]) -> Fires:
    index, worst = max(braked.items(), key=lambda item: item[1].ratio)
    names = ", ".join(str(i) for i in sorted(braked))
    evidence = (*worst.evidence, calculated("braked_gpus", len(braked), of=len(node.gpus)))
    return Fires(
        evidence,
        confidence=None if worst.enough else "likely",
        gpu=index if len(braked) == 1 and len(node.gpus) > 1 else None,
        words={"names": names, "gpus": sorted(braked)},
    )
