"""Situations of retired-pages-limit and its look-alikes."""

from gpudiag.model import GpuReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import sample_of
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _v100(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(
        name="Tesla V100-SXM2-32GB",
        architecture="volta",
        row_remap_pending=None,
        row_remap_failed=None,
        remapped_rows_uncorrectable=None,
        **values,
    )
    return s.passes(minutes=1).window


CASES = [
    Case(
        "the table of retired pages is full",
        lambda: _v100(retired_pages_single_bit=20, retired_pages_double_bit=44),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case(
        "many after double-bit errors",
        lambda: _v100(retired_pages_single_bit=0, retired_pages_double_bit=16),
        "fires",
        severity="warning",
        variant="double-bit",
    ),
    Case(
        "in one pasted sample",
        lambda: sample_of([GpuReading(index=0, retired_pages_double_bit=61)]),
        "fires",
        severity="warning",
    ),
    Case(
        "a few pages over the years",
        lambda: _v100(retired_pages_single_bit=2, retired_pages_double_bit=1),
        "clear",
    ),
    Case("a newer GPU replaces rows", lambda: Situation().passes(minutes=1).window, "clear"),
    Case("the pages cannot be read", lambda: _v100(ecc_corrected_volatile=4), "unjudged"),
]
