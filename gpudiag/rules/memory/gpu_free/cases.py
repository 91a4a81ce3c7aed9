"""Situations of gpu-free and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
from gpudiag.window import Window


def _desktop() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=GIB, utilization_percent=[0.0, 2.0, 4.0, 1.0])
    s.runs({0: 700 << 20}, name="Xorg", command="/usr/lib/xorg/Xorg")
    return s.passes(minutes=6).window


def _held_by_nobody() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    return s.passes(minutes=6).window


def _idle_python() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=GIB // 2)
    s.runs({0: GIB // 2}, name="python3", command="python3 train.py")
    return s.passes(minutes=6).window


def _lost() -> Window:
    s = Situation()
    s.gpu(0).shows(error="gpu_is_lost", memory_used_bytes=None, utilization_percent=None)
    return s.passes(minutes=6).window


def _encoder() -> Window:
    s = Situation()
    s.gpu(0).shows(encoder_percent=40.0, memory_used_bytes=GIB // 2)
    return s.passes(minutes=6).window


def _mig() -> Window:
    s = Situation()
    s.gpu(0).shows(mig_mode=True, utilization_percent=None)
    s.misses("gpu:0", "utilization_percent", "not_supported")
    return s.passes(minutes=6).window


def _blind() -> Window:
    s = Situation()
    s.agent.sees_all_processes = False
    s.gpu(0).shows(memory_used_bytes=GIB // 2)
    return s.passes(minutes=6).window


def _pasted(process_list: str, used: int) -> Window:
    return pasted(process_list=process_list, memory_used_bytes=used)


def _a_job_ended(seconds: float, memory: int = 4 << 20) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=97.0)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="python3 train.py")
    s.passes(minutes=6).ends(5400).gpu(0).shows(memory_used_bytes=memory, utilization_percent=0.0)
    return s.passes(seconds=seconds).window


CASES = [
    Case(
        "an empty GPU",
        lambda: Situation().passes(minutes=6).window,
        "fires",
        severity="ok",
        confidence="likely",
    ),
    Case("a desktop draws on it", _desktop, "fires"),
    Case(
        "one pasted sample of an empty GPU", lambda: _pasted("none", 4 << 20), "fires", confidence="possible"
    ),
    Case(
        "a driver that starts for the question reads 97 % in a table without memory or process",
        lambda: pasted(process_list="none", memory_used_bytes=0, utilization_percent=97.0, power_watts=300.0),
        "fires",
        severity="info",
        variant="no-program",
    ),
    Case("a job ended two minutes ago and left nothing", lambda: _a_job_ended(120), "fires", severity="ok"),
    Case("a job ended half a minute ago", lambda: _a_job_ended(30), "clear"),
    Case("a job ended two minutes ago, and memory is still held", lambda: _a_job_ended(120, GIB), "clear"),
    Case("a reserved pool", lambda: vllm_idle().window, "clear"),
    Case("a server at work", lambda: vllm_busy().window, "clear"),
    Case("memory that nobody claims", _held_by_nobody, "clear"),
    Case("an idle program with a small context", _idle_python, "clear"),
    Case("only the video encoder works", _encoder, "clear"),
    Case("a lost GPU is not free", _lost, "clear"),
    Case("MIG: each slice is looked at by itself", _mig, "clear"),
    Case("not all processes can be seen", _blind, "unjudged"),
    Case("a pasted table without its process list", lambda: _pasted("cut", 700 << 20), "unjudged"),
]
