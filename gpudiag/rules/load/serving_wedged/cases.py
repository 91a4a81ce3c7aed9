"""Situations of serving-wedged and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, vllm_busy, vllm_idle
from gpudiag.window import Window


def _wedged(minutes: float = 6, power: float = 90.0, **engine: Any) -> Window:
    s = vllm_idle(minutes=0)
    s.gpu(0).shows(power_watts=power)
    s.serves("vllm", **{"requests_running": 1.0, "requests_waiting": 14.0, **engine})
    return s.passes(minutes=minutes).window


def _crawls(rate: float, hours: float = 6, **engine: Any) -> Window:
    s = vllm_busy(minutes=60 * hours)
    s.gpu(0).shows(power_watts=90.0)
    s.serves("vllm", rates={"generation_tokens_total": rate, "prompt_tokens_total": 0.0}, **engine)
    return s.passes(minutes=6).window


def _without_metrics() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", metrics_ok=False)
    return s.passes(minutes=6).window


def _asked_two_minutes_ago() -> Window:
    s = vllm_idle()
    s.serves("vllm", requests_running=3.0)
    return s.passes(minutes=2).window


def _just_loaded() -> Window:
    s = vllm_idle(minutes=0)
    unknown = dict.fromkeys(["requests_running", "requests_waiting", "generation_tokens_total"])
    s.serves("vllm", metrics_ok=False, prompt_tokens_total=None, **unknown)
    s.passes(minutes=6)
    s.serves(
        "vllm", metrics_ok=True, requests_running=1.0, prompt_tokens_total=0.0, generation_tokens_total=0.0
    )
    return s.passes(minutes=2).window


CASES = [
    Case("one request runs, fourteen wait, nothing moves", _wedged, "fires", severity="critical", gpu=None),
    Case("its health still answers", lambda: _wedged(health_ok=True), "fires"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("tokens come out", lambda: vllm_busy().window, "clear"),
    Case("a long prompt is read in chunks", lambda: _wedged(rates={"prompt_tokens_total": 900.0}), "clear"),
    Case("the GPU works at full power on a long prompt", lambda: _wedged(power=610.0), "clear"),
    Case("the engine is paused", lambda: _wedged(sleeping=True), "clear"),
    Case("no engine here", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("requests came two minutes ago, and nothing came out yet", _asked_two_minutes_ago, "unjudged"),
    Case("watched for a minute", lambda: _wedged(minutes=1), "unjudged"),
    Case("its metrics cannot be read", _without_metrics, "unjudged"),
    Case(
        "it counts no tokens; no request ends and the GPU rests",
        lambda: _wedged(generation_tokens_total=None, rates={}),
        "fires",
        severity="critical",
        variant="uncounted",
    ),
    Case(
        "requests wait at a server that does not say how many run",
        lambda: _wedged(requests_running=None, generation_tokens_total=None),
        "fires",
        variant="uncounted",
    ),
    Case("it answers since two minutes, and held a request all that time", _just_loaded, "unjudged"),
    Case(
        "it counts no tokens, and requests end",
        lambda: _wedged(generation_tokens_total=None, rates={"requests_finished_total": 0.5}),
        "clear",
    ),
    Case(
        "it counts neither tokens nor requests",
        lambda: _wedged(generation_tokens_total=None, requests_finished_total=None),
        "unjudged",
    ),
    Case(
        "a hundredth of its usual tokens",
        lambda: _crawls(15.0),
        "fires",
        severity="warning",
        variant="crawling",
    ),
    Case("half of its usual tokens", lambda: _crawls(700.0), "clear"),
    Case("slow, and what is usual is not known", lambda: _crawls(15.0, hours=0.5), "clear"),
    Case("one request where there were 24", lambda: _crawls(30.0, requests_running=1.0), "clear"),
]
