"""Situations of app-clocks-locked and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _locked(**values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(
        **{
            "utilization_percent": 95.0,
            "clocks_event_reasons": 0x2,
            "sm_clock_megahertz": 1200.0,
            "application_sm_clock_megahertz": 1200.0,
            "application_sm_clock_default_megahertz": 1980.0,
            **values,
        }
    )
    return s.passes(minutes=6).window


def _no_reasons() -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=95.0).hides("clocks_event_reasons")
    return s.passes(minutes=6).window


CASES = [
    Case("lowered application clocks under load", _locked, "fires", severity="info", confidence="proven"),
    Case(
        "in one pasted sample",
        lambda: one_sample(utilization_percent=90.0, clocks_event_reasons=0x2),
        "fires",
        confidence="likely",
    ),
    Case("the board's own default", lambda: _locked(application_sm_clock_megahertz=1980.0), "clear"),
    Case("an idle GPU", lambda: _locked(utilization_percent=0.0), "clear"),
    Case("the power limit is the reason", lambda: _locked(clocks_event_reasons=0x4), "clear"),
    Case("the reasons cannot be read", _no_reasons, "unjudged"),
]
