"""Situations of healthy-busy and its look-alikes."""

from typing import Any

from gpudiag.model import GpuReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted, runs, sample
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle, vllm_processes
from gpudiag.window import Window


def _training(**gpu: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(
        **{"memory_used_bytes": 60 * GIB, "utilization_percent": 97.0, "power_watts": 610.0, **gpu}
    )
    s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=6).window


def _serving(utilization: float, **engine: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=75 * GIB, utilization_percent=utilization, power_watts=240.0)
    vllm_processes(s)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0], requests_running=3.0, **engine)
    return s.passes(minutes=6).window


def _small_card() -> Window:
    s = Situation()
    s.gpu(0).shows(power_watts=27.0, power_limit_watts=70.0)
    s.passes(minutes=30)
    s.gpu(0).shows(power_watts=33.0, utilization_percent=100.0, memory_used_bytes=GIB)
    s.runs({0: GIB}, name="python3", command="torchrun train.py")
    return s.passes(minutes=6).window


def _hot(celsius: float = 91.0, **gpu: Any) -> Window:
    limits = {"temperature_margin_celsius": None, "temperature_slowdown_celsius": None}
    return _one_sample(power_watts=600.0, temperature_celsius=celsius, **limits, **gpu)


def _one_sample(**gpu: Any) -> Window:
    return pasted(**{"utilization_percent": 99.0, "memory_used_bytes": 60 * GIB, **gpu})


def _a_request_now_and_then() -> Window:
    s = vllm_idle(minutes=0)
    s.gpu(0).shows(utilization_percent=[0.0] * 39 + [60.0])
    s.serves("vllm", rates={"generation_tokens_total": 4.0})
    return s.passes(minutes=6).window


def _load_over_a_minute(*loads: float) -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=list(loads), memory_used_bytes=60 * GIB)
    s.gpu(0).hides("power_watts", "power_limit_watts", "memory_utilization_percent")
    return s.passes(minutes=1).window


def _just_begun() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB)
    s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py")
    s.passes(minutes=6)
    s.gpu(0).shows(utilization_percent=97.0, power_watts=610.0)
    return s.passes(seconds=10).window


def _long_answers() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=75 * GIB, utilization_percent=97.0, power_watts=420.0)
    s.runs({0: 74 * GIB}, pid=4100, name="sglang", command="sglang serve")
    s.serves("sglang", pid=4100, gpus=[0], requests_running=200.0, kv_used_ratio=0.5)
    return s.passes(minutes=6).window


def _triton(
    waiting: float = 0.0, beside: bool = False, silent_minutes: float = 0, load: float = 55.0
) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB, utilization_percent=load, power_watts=6.0 * load)
    s.runs({0: 20 * GIB}, pid=6200, name="tritonserver", command="tritonserver")
    if beside:
        s.runs({0: 5 * GIB}, pid=6300, name="python3", command="python3 other.py")
    unsaid = dict.fromkeys(["requests_running", "kv_used_ratio", "generation_tokens_total"])
    s.serves("triton", {"requests_finished_total": 200.0}, pid=6200, gpus=[0], requests_waiting=waiting,
             prompt_tokens_total=None, **unsaid)  # fmt: skip
    s.passes(minutes=6).rates.clear()
    return s.passes(minutes=silent_minutes).window


def _process_list(sm_percent: float | None) -> Window:
    """`nvidia-smi pmon` alone: a process and what it used; nothing that the GPU itself reads."""
    process = runs(memory_used_bytes=60 * GIB, sm_percent=sm_percent)
    return sample(GpuReading(index=0), processes=(process,), formats=["pmon"], gpus_whole=0)


CASES = [
    Case(
        "load that rises and falls, and no power shown",
        lambda: _load_over_a_minute(0.0, 95.0, 60.0, 0.0, 97.0),
        "fires",
        severity="info",
        confidence="possible",
        variant="comes-and-goes",
    ),
    Case("load that stays, and no power shown", lambda: _load_over_a_minute(100.0, 99.0, 100.0), "unjudged"),
    Case(
        "a server under load makes tokens",
        lambda: vllm_busy().window,
        "fires",
        severity="ok",
        confidence="likely",
    ),
    Case(
        "a server with little traffic",
        lambda: _serving(35.0, rates={"generation_tokens_total": 200.0}),
        "fires",
        severity="ok",
        variant="part-load",
    ),
    Case(
        "a busy server with fifteen requests in its queue",
        lambda: _serving(95.0, requests_waiting=15.0, rates={"generation_tokens_total": 900.0}),
        "fires",
        severity="info",
        variant="queues",
    ),
    Case(
        "a busy server with one request in its queue",
        lambda: _serving(95.0, requests_waiting=1.0, rates={"generation_tokens_total": 900.0}),
        "fires",
        severity="ok",
    ),
    Case(
        "a busy server whose requests wait for a transfer",
        lambda: _serving(
            95.0, requests_waiting=15.0, waiting_reason="deferred", rates={"generation_tokens_total": 900.0}
        ),
        "fires",
        severity="ok",
    ),
    Case("a Triton server answers requests", _triton, "fires", severity="ok", variant="requests"),
    Case(
        "a Triton server that answered none for three minutes",
        lambda: _triton(silent_minutes=3),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case(
        "a Triton server whose queue stays long",
        lambda: _triton(waiting=40.0),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case(
        "a busy Triton server whose queue stays long",
        lambda: _triton(waiting=40.0, load=96.0),
        "fires",
        severity="info",
        confidence="possible",
        variant="queues-uncounted",
    ),
    Case(
        "a Triton server that answers, beside a program of unknown kind",
        lambda: _triton(beside=True),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case("training at high power", _training, "fires", severity="ok", variant="progress-unseen"),
    Case(
        "one pasted sample at high power",
        lambda: _one_sample(power_watts=600.0),
        "fires",
        confidence="possible",
        variant="progress-unseen",
    ),
    Case(
        "some work of an unknown kind",
        lambda: _training(utilization_percent=40.0),
        "fires",
        severity="info",
        variant="some-work",
    ),
    Case("a power sensor that reads far above the limit", lambda: _training(power_watts=1500.0), "clear"),
    Case("100 % at the power of rest", lambda: _training(power_watts=95.0), "clear"),
    Case(
        "one pasted sample at 91 °C, its limits not shown",
        lambda: _hot(clocks_event_reasons=None),
        "fires",
        severity="info",
        confidence="possible",
        variant="hot",
    ),
    Case(
        "one pasted sample at 86 °C, its limits not shown",
        lambda: _hot(86.0, clocks_event_reasons=None),
        "fires",
        severity="info",
        variant="hot",
    ),
    Case(
        "one pasted sample at 83 °C, its limits not shown",
        lambda: _hot(83.0, clocks_event_reasons=None),
        "fires",
        severity="ok",
        variant="progress-unseen",
    ),
    Case(
        "one pasted sample at 91 °C, and nothing holds its clocks",
        lambda: _hot(clocks_event_reasons=0),
        "fires",
        severity="ok",
        variant="progress-unseen",
    ),
    Case(
        "a list of processes alone, one of which computes",
        lambda: _process_list(97.0),
        "fires",
        severity="info",
        confidence="possible",
        variant="of-a-process",
    ),
    Case("a list of processes alone, whose load is not shown", lambda: _process_list(None), "unjudged"),
    Case("one pasted sample: 100 % at little power", lambda: _one_sample(power_watts=90.0), "clear"),
    Case("requests are in the engine and nothing is made", lambda: _serving(99.0), "clear"),
    Case(
        "requests wait although the GPU has room",
        lambda: _serving(20.0, requests_waiting=9.0, rates={"generation_tokens_total": 50.0}),
        "clear",
    ),
    Case(
        "requests wait while the GPU is half busy",
        lambda: _serving(50.0, requests_waiting=9.0, rates={"generation_tokens_total": 500.0}),
        "fires",
        severity="info",
        variant="waits",
    ),
    Case("a job that began to work ten seconds ago", _just_begun, "fires", severity="info"),
    Case(
        "SGLang works on long answers, which it counts when they end",
        _long_answers,
        "fires",
        severity="ok",
        variant="progress-unseen",
    ),
    Case("a server without requests", lambda: vllm_idle().window, "clear"),
    Case(
        "neither power nor memory traffic is shown",
        lambda: _one_sample(power_watts=None, memory_utilization_percent=None),
        "unjudged",
    ),
    Case("a request now and then", _a_request_now_and_then, "fires", severity="ok", variant="part-load"),
    Case(
        "one pasted sample: much power, its limit not shown",
        lambda: _one_sample(power_watts=636.0, power_limit_watts=None),
        "fires",
        variant="progress-unseen",
    ),
    Case(
        "one pasted sample: little power, its limit not shown",
        lambda: _one_sample(power_watts=120.0, power_limit_watts=None),
        "clear",
    ),
    Case("a small card that spins a little above its rest", _small_card, "clear"),
    Case(
        "78 % at little power",
        lambda: _training(utilization_percent=78.0, power_watts=240.0),
        "fires",
        severity="info",
        variant="some-work",
    ),
]
