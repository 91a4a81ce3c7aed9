"""Situations of slow-first-token and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _first_token(before: float, now: float, hours: float = 6, finished: float = 1.0) -> Window:
    s = vllm_busy(minutes=0)
    s.serves("vllm", first_token_seconds_p95=before, rates={"requests_finished_total": finished})
    s.passes(minutes=60 * hours)
    s.serves("vllm", first_token_seconds_p95=now)
    return s.passes(minutes=6).window


CASES = [
    Case("three times the usual", lambda: _first_token(0.8, 2.6), "fires", severity="info", gpu=None),
    Case("seven seconds instead of one", lambda: _first_token(1.0, 7.0), "fires", severity="warning"),
    Case("as usual", lambda: _first_token(2.5, 2.6), "clear"),
    Case("slower, but fast", lambda: _first_token(0.1, 0.3), "clear"),
    Case("hardly any requests", lambda: _first_token(0.8, 2.6, finished=0.05), "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("what is usual is not known yet", lambda: _first_token(0.8, 2.6, hours=1), "unjudged"),
]
