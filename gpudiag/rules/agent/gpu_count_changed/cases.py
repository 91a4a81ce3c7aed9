"""Situations of gpu-count-changed and its look-alikes."""

from gpudiag.model import NvmlReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import START, Situation
from gpudiag.window import Window


def _loses(*indexes: int, on_bus: int | None = 8, seconds: float = 60) -> Window:
    s = Situation(gpus=8).passes(minutes=6)
    for index in indexes:
        del s.gpus[index]
    s.machine(pci_gpu_count=on_bus)
    return s.passes(seconds=seconds).window


def _fell_off_the_bus() -> Window:
    s = Situation(gpus=8).passes(minutes=6)
    bus = s.gpus.pop(3).reading.bus_id
    s.logs("xid", f"NVRM: Xid (PCI:{bus}): 79, GPU has fallen off the bus.", number=79, bus_id=bus)
    return s.passes(minutes=1).window


def _declared(expected: int) -> Window:
    window = Situation(gpus=4).passes(minutes=6).window
    window.expected_gpus = expected
    return window


def _none_left(expected: int) -> Window:
    window = _loses(*range(8), on_bus=0)
    window.expected_gpus = expected
    return window


def _unbound(count: int | None, expected: int | None = None, **host: float) -> Window:
    s = Situation(gpus=7).machine(pci_gpu_count=8, pci_gpus_unbound=count, **host)
    window = s.passes(minutes=6).window
    window.expected_gpus = expected
    return window


def _driver_down() -> Window:
    s = Situation(gpus=8).passes(minutes=6)
    s.gpus.clear()
    s.nvml = NvmlReading(error="driver_not_loaded")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "one of eight is gone; the bus still has it",
        lambda: _loses(3),
        "fires",
        severity="critical",
        variant="driver-lost-it",
        gpu=None,
    ),
    Case("one is gone from the bus too", lambda: _loses(3, on_bus=7), "fires", variant="bus-lost-it"),
    Case("four of eight declared", lambda: _declared(8), "fires"),
    Case("the bus cannot be counted", lambda: _loses(2, 5, on_bus=None), "fires"),
    Case(
        "an eighth card of the same model is on the bus, and no driver has it",
        lambda: _unbound(1),
        "fires",
        severity="warning",
        confidence="likely",
        variant="unbound",
        gpu=None,
    ),
    Case("the eighth card belongs to a virtual machine", lambda: _unbound(0), "clear"),
    Case("seven, as declared", lambda: _unbound(1, expected=7), "clear"),
    Case("the machine has just started", lambda: _unbound(1, booted_at=START), "clear"),
    Case("all are there", lambda: Situation(gpus=8).passes(minutes=6).window, "clear"),
    Case("none are left, as declared", lambda: _none_left(expected=0), "clear"),
    Case("four, as declared", lambda: _declared(4), "clear"),
    Case("missing for one sample", lambda: _loses(3, seconds=10), "clear"),
    Case("the whole driver is away", _driver_down, "clear"),
    Case("pasted text may show one GPU of many", lambda: pasted(), "clear"),
    Case("the kernel says that it fell off the bus: gpu-lost-bus", _fell_off_the_bus, "clear"),
]
