"""What the cases of this family share: a driver that asks for a reset, and has had it."""

from __future__ import annotations

from gpudiag.rules.situations import Situation


def asked(s: Situation, action: int = 1) -> Situation:
    """The driver asks for something (a reset: 1) for a minute, and then for nothing."""
    s.gpu(0).shows(recovery_action=action)
    s.passes(minutes=1)
    s.gpu(0).shows(recovery_action=0, ecc_uncorrected_volatile=0, ecc_corrected_volatile=0)
    return s.passes(minutes=1)
