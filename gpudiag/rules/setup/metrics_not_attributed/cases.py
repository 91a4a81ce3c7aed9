"""Situations of metrics-not-attributed and its look-alikes."""

from gpudiag.model import GpuUse
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _pods(*names: str, sm_percent: float | None = None, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**{"utilization_percent": 70.0, **values})
    for i, name in enumerate(names):
        s.runs(
            pid=5000 + i,
            name="python3",
            pod=name,
            namespace="team",
            gpus=[GpuUse(gpu=0, memory_used_bytes=8 * GIB, sm_percent=sm_percent)],
        )
    return s.passes(minutes=1).window


CASES = [
    Case("two pods take turns", lambda: _pods("a", "b"), "fires", severity="info", confidence="proven"),
    Case("each process has its own share", lambda: _pods("a", "b", sm_percent=35.0), "clear"),
    Case("two processes of one pod", lambda: _pods("a", "a"), "clear"),
    Case("one pod", lambda: _pods("a"), "clear"),
    Case("slices of a GPU have readings of their own", lambda: _pods("a", "b", mig_mode=True), "clear"),
    Case("utilization cannot be read", lambda: _pods("a", "b", utilization_percent=None), "unjudged"),
]
