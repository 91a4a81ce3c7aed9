"""Situations of ecc-corrected-rate and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _counter(*values: int) -> Window:
    s = Situation()
    for value in values:
        s.gpu(0).shows(ecc_corrected_volatile=value)
        s.passes(minutes=1)
    return s.window


def _unknown() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("ecc_corrected_volatile")
    return s.passes(minutes=1).window


CASES = [
    Case("two thousand within minutes", lambda: _counter(0, 900, 2100), "fires", severity="info"),
    Case(
        "the driver calls the rate high",
        lambda: kernel_lines(
            "NVRM: Xid (PCI:0000:19:00): 92, pid='<unknown>', name=<unknown>, High single-bit ECC rate"
        ),
        "fires",
        severity="warning",
        variant="driver",
    ),
    Case("a single corrected error pages nobody", lambda: _counter(0, 1), "clear"),
    Case("many, but from before we looked", lambda: _counter(5000, 5000), "clear"),
    Case("the counter was reset", lambda: _counter(5000, 3), "clear"),
    Case("neither log nor counter", _unknown, "unjudged"),
]
