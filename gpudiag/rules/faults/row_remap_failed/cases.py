"""Situations of row-remap-failed and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines, one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

FAILED = "NVRM: Xid (PCI:0000:19:00): 64, pid='<unknown>', name=<unknown>, Row Remapper: failed to remap"


def _shows(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**values)
    return s.passes(minutes=1).window


def _new() -> Window:
    s = Situation().passes(minutes=1)
    s.gpu(0).shows(row_remap_failed=True, remapped_rows_uncorrectable=3)
    return s.passes(minutes=1).window


def _mig() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("row_remap_failed", "remapped_rows_uncorrectable")
    return s.passes(minutes=1).window


CASES = [
    Case("it failed while we looked", _new, "fires", severity="critical", confidence="proven"),
    Case("Xid 64", lambda: kernel_lines(FAILED), "fires", severity="critical", variant="logged"),
    Case(
        "only the flag of long ago",
        lambda: _shows(row_remap_failed=True),
        "fires",
        severity="warning",
        variant="historical",
    ),
    Case(
        "the flag in one pasted sample",
        lambda: one_sample(row_remap_failed=True),
        "fires",
        severity="warning",
        variant="historical",
    ),
    Case(
        "hundreds of rows were replaced",
        lambda: _shows(remapped_rows_uncorrectable=512),
        "fires",
        severity="warning",
        variant="many",
    ),
    Case(
        "a bank has no spare row left",
        lambda: one_sample(row_remap_banks_none=1, remapped_rows_uncorrectable=8),
        "fires",
        severity="warning",
        variant="no-spares",
    ),
    Case("a remap that waits has not failed", lambda: _shows(row_remap_pending=True), "clear"),
    Case("a few rows were replaced", lambda: _shows(remapped_rows_uncorrectable=4), "clear"),
    Case("MIG hides it and the log cannot be read", _mig, "unjudged"),
]
