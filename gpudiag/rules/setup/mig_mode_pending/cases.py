"""Situations of mig-mode-pending and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _mig(now: bool | None, pending: bool | None, gap: str | None = None) -> Window:
    s = Situation()
    s.gpu(0).shows(mig_mode=now, mig_mode_pending=pending, persistence_mode=False)
    if gap:
        s.misses("gpu:0", "mig_mode", gap)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "it will be on after the next reset",
        lambda: _mig(False, True),
        "fires",
        severity="info",
        confidence="proven",
    ),
    Case("it will be off", lambda: _mig(True, False), "fires", variant="off"),
    Case("in one pasted sample", lambda: one_sample(mig_mode_pending=True), "fires"),
    Case("on, and it stays on", lambda: _mig(True, True), "clear"),
    Case("off, and it stays off", lambda: _mig(False, False), "clear"),
    Case("a GPU without MIG", lambda: _mig(None, None, "not_supported"), "clear"),
    Case("the mode cannot be read", lambda: _mig(None, None, "no_permission"), "unjudged"),
]
