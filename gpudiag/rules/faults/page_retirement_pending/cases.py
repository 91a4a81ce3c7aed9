"""Situations of page-retirement-pending and its look-alikes."""

from gpudiag.model import GpuReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines, sample_of
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0000:3b:00): 63, Dynamic Page Retirement: New page retired, reboot to activate"


def _v100(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(name="Tesla V100-SXM2-32GB", architecture="volta", row_remap_pending=None, **values)
    return s.passes(minutes=1).window


def _unknown() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("row_remap_pending", "retired_pages_pending")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "pages wait",
        lambda: _v100(retired_pages_pending=True, retired_pages_double_bit=1),
        "fires",
        severity="warning",
        confidence="proven",
    ),
    Case(
        "in one pasted sample", lambda: sample_of([GpuReading(index=0, retired_pages_pending=True)]), "fires"
    ),
    Case(
        "a pasted line tells of it",
        lambda: kernel_lines(LINE),
        "fires",
        variant="logged",
        confidence="likely",
    ),
    Case(
        "pages were retired long ago",
        lambda: _v100(retired_pages_pending=False, retired_pages_double_bit=2),
        "clear",
    ),
    Case(
        "a row of a newer GPU",
        lambda: kernel_lines(LINE.replace("Dynamic Page Retirement: New page retired", "Row Remapper")),
        "clear",
    ),
    Case("neither flag nor log", _unknown, "unjudged"),
]
