"""Situations of kv-pool-reserved-idle and its look-alikes."""

from typing import Any

from gpudiag.model import GpuUse, ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted_with
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle, vllm_processes
from gpudiag.window import Window


def _without_metrics() -> Window:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB)
    vllm_processes(s)
    return s.passes(minutes=6).window


def _orphan() -> Window:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB)
    s.runs({0: 74 * GIB}, pid=4121, name="VLLM::EngineCore", parent_pid=1, parent_name="systemd")
    s.serves(
        "vllm", pid=None, worker_pids=[4121], gpus=[0], parent_alive=False, health_ok=False, metrics_ok=False
    )
    return s.passes(minutes=6).window


def _wedged() -> Window:
    s = vllm_idle()
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0)
    return s.passes(minutes=6).window


def _no_utilization() -> Window:
    s = vllm_idle(minutes=0)
    s.gpu(0).hides("utilization_percent")
    s.misses("gpu:0", "utilization_percent", "no_permission")
    return s.passes(minutes=6).window


def _small_share() -> Window:
    s = vllm_idle(minutes=0)
    s.all_gpus(memory_used_bytes=40 * GIB)
    s.serves("vllm", gpu_memory_utilization=0.5, pool_bytes=20 * GIB)
    return s.passes(minutes=6).window


def _pasted() -> Window:
    worker = ProcessReading(
        pid=4121, name="VLLM::EngineCore", gpus=[GpuUse(gpu=0, memory_used_bytes=74 * GIB, type="C")]
    )
    return pasted_with([worker], memory_used_bytes=75 * GIB)


def _finished_between() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", rates={"generation_tokens_total": 3.0})
    return s.passes(minutes=6).window


def _unified_memory(load: float | None = 0.0) -> Window:
    engine = ProcessReading(
        pid=4121, name="VLLM::EngineCore", gpus=[GpuUse(gpu=0, memory_used_bytes=60 * GIB, type="C")]
    )
    return pasted_with([engine], utilization_percent=load, memory_used_bytes=None, memory_total_bytes=None)


def _under_ray() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", parent_alive=None, workers_by="ray")
    return s.passes(minutes=6).window


def _no_parent_told() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", parent_alive=None)
    return s.passes(minutes=6).window


def _unwell() -> Window:
    s = vllm_idle()
    s.serves("vllm", health_ok=False)
    return s.reports().window


def _probed(beside: bool = False, **engine: Any) -> Window:
    """A server whose health check generates a token every few seconds."""
    s = vllm_idle(minutes=0)
    s.gpu(0).shows(utilization_percent=[0.0, 0.0, 0.0, 0.0, 8.0])
    s.serves("vllm", **engine)
    if beside:
        s.runs({0: GIB}, pid=9000, name="python3", command="python3 other.py")
    return s.passes(minutes=6).window


def _cached() -> Window:
    s = vllm_idle(minutes=0)
    s.serves("vllm", kv_used_ratio=0.4)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "a vLLM server waits for requests",
        lambda: vllm_idle().window,
        "fires",
        severity="ok",
        confidence="likely",
    ),
    Case("its health check generates a token now and then", _probed, "fires", severity="ok"),
    Case("nobody asks, and old prompts fill a part of the pool", _cached, "fires", severity="ok"),
    Case("another program works a little beside it", lambda: _probed(beside=True), "clear"),
    Case(
        "it works a little, and its metrics cannot be read",
        lambda: _probed(metrics_ok=False, health_ok=None),
        "clear",
    ),
    Case(
        "no metrics: it may as well be an orphan",
        _without_metrics,
        "fires",
        severity="info",
        confidence="possible",
        variant="looks-like",
    ),
    Case("its health check says no", _unwell, "fires", severity="info", variant="looks-like"),
    Case(
        "an orphaned worker is never called normal", _orphan, "fires", severity="info", variant="looks-like"
    ),
    Case("ray's workers: the answering port decides", _under_ray, "fires", severity="ok"),
    Case(
        "no parent is told of: it may be an orphan",
        _no_parent_told,
        "fires",
        severity="info",
        variant="looks-like",
    ),
    Case(
        "unified memory: the GPU has no total of its own",
        _unified_memory,
        "fires",
        severity="info",
        confidence="possible",
        variant="total-unseen",
    ),
    Case("a pasted process list without the GPU's load", lambda: _unified_memory(None), "unjudged"),
    Case("requests wait and none is served", _wedged, "clear"),
    Case("the server is at work", lambda: vllm_busy().window, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("utilization cannot be read", _no_utilization, "unjudged"),
    Case("a small share was reserved", _small_share, "fires", severity="ok"),
    Case("one pasted sample", _pasted, "fires", severity="info", confidence="possible", variant="looks-like"),
    Case("tokens were made between the samples", _finished_between, "clear"),
    Case("a look of thirty seconds", lambda: vllm_idle(minutes=0.5).window, "fires", variant="looks-like"),
]
