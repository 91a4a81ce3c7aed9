"""Situations of kv-pool-reserved-idle and its look-alikes."""

from gpudiag.rule import Case
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


CASES = [
    Case("a vLLM server waits for requests", lambda: vllm_idle().window, "fires", severity="ok", confidence="likely"),
    Case("no metrics: it may as well be an orphan", _without_metrics, "fires", severity="info",
         confidence="possible", variant="looks-like"),
    Case("an orphaned worker is never called normal", _orphan, "fires", severity="info", variant="looks-like"),
    Case("requests wait and none is served", _wedged, "clear"),
    Case("the server is at work", lambda: vllm_busy().window, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("utilization cannot be read", _no_utilization, "unjudged"),
]  # fmt: skip
