"""Situations of fabric-degraded and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _fabric(gap: str | None = None, **values: object) -> Window:
    s = Situation(gpus=2)
    s.gpu(0).shows(**{"fabric_state": "completed", "fabric_status": "success", **values})
    if gap:
        s.misses("gpu:0", "fabric_health", gap)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "less bandwidth",
        lambda: _fabric(fabric_health=["degraded_bandwidth"]),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case("a healthy mask", lambda: _fabric(fabric_health=[]), "clear"),
    Case("a driver without the mask", lambda: _fabric(gap="not_supported"), "clear"),
    Case(
        "the fabric is not up: that has a page of its own",
        lambda: _fabric(fabric_state="in_progress"),
        "clear",
    ),
    Case("a GPU without a fabric", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("the mask cannot be read", lambda: _fabric(gap="timeout"), "unjudged"),
]
