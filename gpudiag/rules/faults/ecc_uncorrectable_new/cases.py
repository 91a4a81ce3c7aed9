"""Situations of ecc-uncorrectable-new and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.faults.asked import asked
from gpudiag.rules.pastes import error_line, kernel_lines, one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

DBE = "NVRM: Xid (PCI:0000:19:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error"
ROW = "NVRM: Xid (PCI:0000:19:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked"
ONE = "NVRM: Xid (PCI:0000:19:00): 94, pid=1248209, name=python3.10, Contained: SM (0x1). RST: No"
ALL = (
    "NVRM: Xid (PCI:0000:19:00): 95, pid='<unknown>', name=<unknown>, Uncontained: FBHUB. RST: Yes, D-RST: No"
)


def _counter(before: int, after: int) -> Window:
    s = Situation()
    s.gpu(0).shows(ecc_uncorrected_volatile=before)
    s.passes(minutes=3)
    s.gpu(0).shows(ecc_uncorrected_volatile=after)
    return s.passes(minutes=3).window


def _logged(action: int) -> Window:
    """An error in log and counter; the counter is 0 again after the driver asked for `action`."""
    s = Situation().passes(minutes=1)
    s.gpu(0).shows(ecc_uncorrected_volatile=1)
    s.logs("xid", ALL, number=95, bus_id="0000:19:00")
    return asked(s.passes(minutes=1), action).window


def _without_ecc() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("ecc_uncorrected_volatile")
    return s.passes(minutes=3).window


CASES = [
    Case(
        "a contained error ended one program",
        lambda: kernel_lines(DBE, ROW, ONE),
        "fires",
        severity="critical",
        variant="contained",
    ),
    Case(
        "only the contained part was logged",
        lambda: kernel_lines(ONE),
        "fires",
        severity="warning",
        variant="contained",
    ),
    Case(
        "an uncontained error",
        lambda: kernel_lines(DBE, ALL),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case("the counter rose", lambda: _counter(0, 2), "fires", severity="critical", variant="counter"),
    Case(
        "the counter was there when we began to look",
        lambda: _counter(3, 3),
        "fires",
        severity="info",
        variant="before",
    ),
    Case(
        "counted in one pasted sample",
        lambda: one_sample(ecc_uncorrected_volatile=3),
        "fires",
        severity="warning",
        variant="one-sample",
    ),
    Case("only errors of the years before", lambda: one_sample(ecc_uncorrected_aggregate=3), "clear"),
    Case("the counter was reset with the driver", lambda: _counter(3, 0), "clear"),
    Case("the counters were cleared by hand, which is no reset", lambda: _logged(0), "fires", gpu=0),
    Case("a reboot was asked for, and there was none", lambda: _logged(2), "fires", gpu=0),
    Case("the driver asked for a reset and asks no more: there was one", lambda: _logged(1), "clear"),
    Case("only a row was marked", lambda: kernel_lines(ROW), "clear"),
    Case(
        "CUDA told a program of it",
        lambda: error_line("uncorrectable_ecc", "CUDA error: uncorrectable ECC error encountered"),
        "fires",
        severity="critical",
        variant="program",
    ),
    Case("no error", lambda: Situation().passes(minutes=3).window, "clear"),
    Case("neither log nor counter", _without_ecc, "unjudged"),
]
