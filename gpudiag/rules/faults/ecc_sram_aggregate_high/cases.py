"""Situations of ecc-sram-aggregate-high and its look-alikes."""

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
        "the driver's own threshold",
        lambda: _shows(ecc_sram_threshold_exceeded=True, ecc_sram_uncorrected_aggregate=9),
        "fires",
        severity="warning",
        confidence="proven",
        variant="flag",
    ),
    Case(
        "many errors over the card's life",
        lambda: _shows(ecc_sram_uncorrected_aggregate=6),
        "fires",
        confidence="likely",
    ),
    Case("in one pasted sample", lambda: one_sample(ecc_sram_uncorrected_aggregate=6), "fires"),
    Case("a few errors over the years", lambda: _shows(ecc_sram_uncorrected_aggregate=2), "clear"),
    Case(
        "errors in DRAM are mended by spare rows",
        lambda: _shows(ecc_uncorrected_aggregate=9, ecc_sram_uncorrected_aggregate=0),
        "clear",
    ),
    Case("no error at all", lambda: _shows(), "clear"),
    Case(
        "where the errors were cannot be read",
        lambda: _shows(ecc_uncorrected_aggregate=9, ecc_uncorrected_volatile=1),
        "unjudged",
    ),
]
