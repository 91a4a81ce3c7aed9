"""Situations of thermal-hw-slowdown and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation, reasons_hidden
from gpudiag.window import Window

HOT = {"temperature_celsius": 92.0, "temperature_margin_celsius": 0.0, "utilization_percent": 99.0}


def _hot(mask: int = 0x48, minutes: float = 6) -> Window:
    s = Situation(gpus=2).passes(minutes=3)
    s.gpu(0).shows(**HOT, sm_clock_megahertz=700.0, clocks_event_reasons=mask)
    return s.passes(minutes=minutes).window


def _flicker() -> Window:
    s = Situation().passes(minutes=3)
    s.gpu(0).shows(
        utilization_percent=60.0, temperature_celsius=61.0, clocks_event_reasons=[0x8] * 3 + [0] * 57
    )
    return s.passes(minutes=3).window


def _blip() -> Window:
    s = Situation().passes(minutes=3)
    s.gpu(0).shows(**HOT, clocks_event_reasons=[0x40] + [0] * 59)
    return s.passes(minutes=1).window


def _counter() -> Window:
    s = Situation().passes(minutes=3)
    for i in range(30):
        s.gpu(0).shows(**HOT, clocks_event_reasons=0x4, throttle_hw_thermal_nanoseconds=i * 2_000_000_000)
        s.reports()
    return s.window


CASES = [
    Case(
        "the hardware holds the clocks down for minutes",
        _hot,
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case("the driver's counter rose although no sample caught it", _counter, "fires", confidence="proven"),
    Case(
        "one pasted sample shows the bit",
        lambda: one_sample(clocks_event_reasons=0x48, temperature_celsius=93.0),
        "fires",
        confidence="likely",
    ),
    Case(
        "slowed down for minutes, and no reason is named",
        lambda: _hot(0x8),
        "fires",
        severity="warning",
        variant="unsaid",
        confidence="likely",
    ),
    Case(
        "the same in one pasted sample",
        lambda: one_sample(clocks_event_reasons=0x8, utilization_percent=90.0),
        "fires",
        severity="info",
        variant="unsaid",
        confidence="possible",
    ),
    Case("a change of performance state sets the slowdown bit alone", _flicker, "clear"),
    Case("one sample of a minute", _blip, "clear"),
    Case("a power brake is no heat", lambda: _hot(0x88), "clear"),
    Case("the driver slows down before the hardware must", lambda: _hot(0x20), "clear"),
    Case("the reasons cannot be read", reasons_hidden, "unjudged"),
]
