"""Situations of pcie-errors and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation
from gpudiag.window import Window

AER = "pcieport 0000:00:01.0: AER: Uncorrected ({}) error received: 0000:19:00.0"


def _counter(name: str, *values: int | None, booted: float = 86_400) -> Window:
    s = Situation()
    s.machine(booted_at=s.now - booted)
    for value in values:
        s.gpu(0).shows(**{name: value})
        s.passes(minutes=5)
    return s.window


def _report(kind: str, fatal: bool) -> Window:
    s = Situation()
    s.logs("aer", AER.format(kind), bus_id="0000:19:00.0", fatal=fatal)
    return s.passes(minutes=1).window


def _corrected(count: int) -> Window:
    s = Situation()
    s.logs(
        "aer",
        "pcieport 0000:00:01.0: AER: Corrected error received: 0000:19:00.0",
        bus_id="0000:19:00.0",
        count=count,
    )
    return s.passes(minutes=1).window


def _unknown() -> Window:
    s = Situation()
    s.agent.kernel_log_readable = False
    s.gpu(0).hides("pcie_replay_count")
    return s.passes(minutes=1).window


CASES = [
    Case("many replays", lambda: _counter("pcie_replay_count", 0, 400, 900), "fires", severity="warning"),
    Case(
        "a fatal error was counted",
        lambda: _counter("pcie_fatal_errors", 0, 1),
        "fires",
        severity="critical",
        confidence="proven",
        variant="uncorrected",
    ),
    Case(
        "a non-fatal report in the log",
        lambda: _report("Non-Fatal", False),
        "fires",
        severity="warning",
        variant="reports",
    ),
    Case(
        "a fatal report in the log",
        lambda: _report("Fatal", True),
        "fires",
        severity="critical",
        variant="reports",
    ),
    Case(
        "a stream of corrected reports",
        lambda: _corrected(400),
        "fires",
        severity="warning",
        variant="reports",
    ),
    Case(
        "a pasted report of an NVIDIA card",
        lambda: kernel_lines(
            "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer"
        ),
        "fires",
        variant="reports",
        gpu=None,
    ),
    Case(
        "a pasted report of another device",
        lambda: kernel_lines(
            "nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer"
        ),
        "clear",
        gpu=None,
    ),
    Case("one corrected report", lambda: _corrected(1), "clear"),
    Case(
        "a few replays are within the link's allowance", lambda: _counter("pcie_replay_count", 0, 40), "clear"
    ),
    Case("many, but from before we looked", lambda: _counter("pcie_replay_count", 5000, 5000), "clear"),
    Case("the counter was reset", lambda: _counter("pcie_replay_count", 5000, 2), "clear"),
    Case(
        "a burst while the machine starts",
        lambda: _counter("pcie_replay_count", 0, 900, booted=-200),
        "clear",
    ),
    Case("neither counter nor log", _unknown, "unjudged"),
]
