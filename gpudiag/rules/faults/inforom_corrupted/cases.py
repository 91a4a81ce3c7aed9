"""Situations of inforom-corrupted and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _shows(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**values)
    return s.passes(minutes=1).window


CASES = [
    Case(
        "the daily check fails",
        lambda: _shows(inforom_corrupted=True),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case("a pasted warning", lambda: one_sample(inforom_corrupted=True), "fires"),
    Case("it is intact", lambda: _shows(inforom_corrupted=False), "clear"),
    Case("a pasted table without the warning", lambda: one_sample(), "clear"),
    Case("it was not checked", lambda: _shows(persistence_mode=False), "unjudged"),
]
