"""Situations of ecc-mode-unexpected and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _ecc(now: bool | None, pending: bool | None, gpus: int = 4, gap: str | None = None) -> Window:
    s = Situation(gpus=gpus)
    s.gpu(0).shows(ecc_mode=now, ecc_mode_pending=pending)
    if gap:
        s.misses("gpu:0", "ecc_mode", gap)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "off among cards that have it on",
        lambda: _ecc(False, False),
        "fires",
        severity="info",
        confidence="proven",
    ),
    Case("a change waits", lambda: _ecc(True, False), "fires", variant="pending"),
    Case("a change waits that switches it on", lambda: _ecc(False, True), "fires", variant="pending"),
    Case("in one pasted sample", lambda: one_sample(ecc_mode_pending=False), "fires", variant="pending"),
    Case("ECC is on", lambda: _ecc(True, True), "clear"),
    Case("off on the only card: somebody chose so", lambda: _ecc(False, False, gpus=1), "clear"),
    Case("a card without ECC", lambda: _ecc(None, None, gap="not_supported"), "clear"),
    Case("the mode cannot be read", lambda: _ecc(None, None, gap="no_permission"), "unjudged"),
]
