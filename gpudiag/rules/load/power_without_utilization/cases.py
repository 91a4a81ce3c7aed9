"""Situations of power-without-utilization and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import one_sample
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
from gpudiag.window import Window


def _quiet(minutes: float = 6, **values: object) -> Window:
    s = Situation()
    s.gpu(0).shows(**values)
    return s.passes(minutes=minutes).window


def _pool(watts: float) -> Window:
    s = vllm_idle()
    s.gpu(0).shows(power_watts=watts)
    return s.passes(minutes=6).window


def _load_ended(seconds: float) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=97.0, power_watts=650.0)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="python3 train.py")
    s.passes(minutes=6).gpu(0).shows(utilization_percent=0.0, power_watts=110.0)
    return s.passes(seconds=seconds).window


CASES = [
    Case(
        "nobody is on it, and it draws 430 W",
        lambda: _quiet(power_watts=430.0),
        "fires",
        severity="info",
        confidence="likely",
    ),
    Case("a pool that nobody asks, at 430 W", lambda: _pool(430.0), "fires", severity="info"),
    Case(
        "one pasted sample",
        lambda: one_sample(power_watts=430.0),
        "fires",
        confidence="possible",
        variant="one-sample",
    ),
    Case("a context keeps the card awake", lambda: _quiet(power_watts=140.0), "clear"),
    Case(
        "the limit was lowered to twice the power at rest",
        lambda: _quiet(power_watts=140.0, power_limit_watts=200.0),
        "clear",
    ),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("a load that ended a minute ago", lambda: _load_ended(60), "clear"),
    Case("only the video encoder works", lambda: _quiet(power_watts=430.0, encoder_percent=70.0), "clear"),
    Case("its power cannot be read", lambda: _quiet(power_watts=None), "clear"),
    Case("seen for two minutes", lambda: _quiet(minutes=2, power_watts=430.0), "unjudged"),
]
