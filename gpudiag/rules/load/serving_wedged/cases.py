"""Situations of serving-wedged and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
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


def _late(engine: str = "sglang", fills: bool = False, cpu: float | None = 5.0, **more: Any) -> Window:
    """An engine that counts tokens when a request ends; `more` is of it, or what its GPU shows."""
    s = Situation()
    shown = {k: more.pop(k) for k in ("power_watts", "utilization_percent", "memory_utilization_percent")
             if k in more}  # fmt: skip
    s.all_gpus(memory_used_bytes=75 * GIB, **shown)
    s.runs({0: 74 * GIB}, pid=4100, name="server", command=f"{engine} serve", cpu_percent=cpu)
    s.serves(engine, pid=4100, gpus=[0], **{"requests_running": 4.0, "kv_used_ratio": 0.3, **more})
    for minute in range(6):
        if fills:
            s.serves(engine, kv_used_ratio=0.3 + 0.01 * minute)
        s.passes(minutes=1)
    return s.window


def _ollama(unloads_in: float, cpu: float = 1.0, asleep: float = 0.0) -> Window:
    s = Situation()
    s.all_gpus(memory_used_bytes=6 * GIB)
    s.runs({0: 6 * GIB}, pid=6100, name="ollama", command="ollama runner --model m", cpu_percent=cpu)
    unsaid = dict.fromkeys(["requests_running", "requests_waiting", "generation_tokens_total"])
    s.serves("ollama", pid=6100, gpus=[0], unloads_at=s.now + unloads_in, connections=1, **unsaid)
    return s.passes(minutes=4).is_silent(asleep).passes(minutes=10).window


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
    Case(
        "SGLang: requests run, nothing is made, and its GPU rests",
        _late,
        "fires",
        severity="critical",
    ),
    Case(
        "SGLang: requests run, nothing is made, and its GPU spins at little power",
        lambda: _late(utilization_percent=100.0, power_watts=150.0),
        "fires",
        severity="critical",
    ),
    Case(
        "a llama.cpp server holds a request, and neither its GPU nor its CPU computes",
        lambda: _late("llama.cpp", kv_used_ratio=None, rates={"steps_total": 0.0}),
        "fires",
    ),
    Case(
        "Ollama: a request holds the model ten minutes beyond its time, and nothing computes",
        lambda: _ollama(unloads_in=200),
        "fires",
        severity="warning",
        variant="held",
    ),
    Case(
        "SGLang works on long answers, which it counts when they end",
        lambda: _late(utilization_percent=97.0, power_watts=340.0),
        "clear",
    ),
    Case(
        "SGLang works on long answers at little power, and its cache fills",
        lambda: _late(fills=True, utilization_percent=60.0, power_watts=150.0),
        "clear",
    ),
    Case(
        "a llama.cpp server decodes one long answer",
        lambda: _late("llama.cpp", rates={"steps_total": 3.0}, power_watts=110.0, cpu=1600.0),
        "clear",
    ),
    Case("Ollama answers on the CPU", lambda: _ollama(unloads_in=200, cpu=800.0), "clear"),
    Case("Ollama holds a model, and its time is not over", lambda: _ollama(unloads_in=3600), "clear"),
    Case(
        "Ollama after the machine slept: the moment is long past",
        lambda: _ollama(unloads_in=3600, asleep=7 * 3600),
        "clear",
    ),
    Case(
        "SGLang at half load and little power: a long answer, or none",
        lambda: _late(utilization_percent=40.0, power_watts=150.0),
        "unjudged",
    ),
    Case(
        "a llama.cpp server that may answer on the CPU, whose time cannot be seen",
        lambda: _late("llama.cpp", kv_used_ratio=None, cpu=None),
        "unjudged",
    ),
    Case("half of its usual tokens", lambda: _crawls(700.0), "clear"),
    Case("slow, and what is usual is not known", lambda: _crawls(15.0, hours=0.5), "clear"),
    Case("one request where there were 24", lambda: _crawls(30.0, requests_running=1.0), "clear"),
]
