"""Situations of power-brake and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation, reasons_hidden
from gpudiag.window import Window


def _braked(mask: int = 0x88, gpus: int = 4) -> Window:
    s = Situation(gpus=gpus).passes(minutes=3)
    s.all_gpus(
        clocks_event_reasons=mask, sm_clock_megahertz=800.0, utilization_percent=97.0, power_watts=240.0
    )
    return s.passes(minutes=6).window


def _flicker() -> Window:
    s = Situation().passes(minutes=3)
    s.gpu(0).shows(clocks_event_reasons=[0x80] + [0x4] * 299)
    return s.passes(minutes=5).window


CASES = [
    Case(
        "all GPUs of the chassis are braked",
        _braked,
        "fires",
        severity="critical",
        confidence="proven",
        gpu=None,
    ),
    Case(
        "braked while idle, in one pasted sample",
        lambda: one_sample(2, clocks_event_reasons=0x88),
        "fires",
        confidence="likely",
        gpu=None,
    ),
    Case("one sample in five minutes", _flicker, "clear", gpu=None),
    Case("the slowdown bit alone", lambda: _braked(0x8), "clear", gpu=None),
    Case("the GPU's own power limit", lambda: _braked(0x4), "clear", gpu=None),
    Case("the reasons cannot be read", reasons_hidden, "unjudged", gpu=None),
]
