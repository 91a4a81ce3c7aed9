"""Situations of row-remap-pending and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines, one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

MARKED = "NVRM: Xid (PCI:0000:19:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked"


def _shows(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**values)
    return s.passes(minutes=1).window


def _reset_since() -> Window:
    s = Situation()
    s.logs("xid", MARKED, number=63, bus_id="0000:19:00")
    return s.passes(minutes=1).window


def _mig() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("row_remap_pending")
    s.misses("gpu:0", "row_remap_pending", "not_supported")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "the flag is set",
        lambda: _shows(row_remap_pending=True, remapped_rows_uncorrectable=1),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case(
        "the flag is set while every error counter reads 0",
        lambda: one_sample(row_remap_pending=True),
        "fires",
    ),
    Case(
        "a pasted line tells of it",
        lambda: kernel_lines(MARKED),
        "fires",
        variant="logged",
        confidence="likely",
    ),
    Case("rows were replaced long ago", lambda: _shows(remapped_rows_uncorrectable=3), "clear"),
    Case("the log told of it, and the flag is gone since the reset", _reset_since, "clear"),
    Case(
        "pages of an older GPU",
        lambda: kernel_lines(MARKED.replace("Row Remapper: New row", "Dynamic Page Retirement: page")),
        "clear",
    ),
    Case("MIG hides the flag and the log cannot be read", _mig, "unjudged"),
]
