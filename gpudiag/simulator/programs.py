"""Programs that run on simulated machines, as an agent sees them."""

from __future__ import annotations

from typing import Any

from gpudiag.model import EngineReading, ProcessReading, ThreadReading
from gpudiag.simulator.machine import on


def server(pid: int, started_at: float, model: str, **values: Any) -> ProcessReading:
    """The API process of a vLLM server; it holds no GPU memory."""
    known: dict[str, Any] = {
        "name": "vllm",
        "command": f"/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model {model}",
        "user": "serve",
        "parent_pid": 1,
        "parent_name": "systemd",
        "parents": ["systemd"],
        "state": "S",
        "unit": "vllm.service",
        "cpu_percent": 3.0,
        "gpus": [],
    }
    return ProcessReading(pid=pid, started_at=started_at, **{**known, **values})


def worker(pid: int, started_at: float, memory: dict[int, int], parent: int, **values: Any) -> ProcessReading:
    """The engine core of a vLLM server; it holds the memory. `memory` is bytes by GPU index."""
    known: dict[str, Any] = {
        "name": "VLLM::EngineCore",
        "command": "VLLM::EngineCore",
        "user": "serve",
        "parent_pid": parent,
        "parent_name": "vllm" if parent > 1 else "systemd",
        "parents": ["vllm", "systemd"] if parent > 1 else ["systemd"],
        "state": "S",
        "unit": "vllm.service",
        "in_nvml": True,
        "cpu_percent": 2.0,
        "open_devices": sorted(memory),
        "frameworks": ["torch"],
        "threads": [ThreadReading(tid=pid, name="EngineCore", cpu_percent=1.5, state="S")],
        "thread_count": 58,
    }
    return ProcessReading(pid=pid, started_at=started_at, **{**known, **values, "gpus": on(memory)})


def python(
    pid: int, started_at: float, command: str, memory: dict[int, int], **values: Any
) -> ProcessReading:
    """A Python program that uses GPUs."""
    known: dict[str, Any] = {
        "name": "python3",
        "command": command,
        "user": "ml",
        "parent_pid": 2201,
        "parent_name": "bash",
        "parents": ["bash", "sshd", "systemd"],
        "state": "R",
        "in_nvml": True,
        "cpu_percent": 35.0,
        "open_devices": sorted(memory),
        "frameworks": ["torch"],
        "thread_count": 41,
    }
    return ProcessReading(pid=pid, started_at=started_at, **{**known, **values, "gpus": on(memory)})


def engine(model: str, server_pid: int, worker_pid: int, gpus: list[int], **values: Any) -> EngineReading:
    """A vLLM engine that answers and has nothing to do."""
    known: dict[str, Any] = {
        "version": "0.11.2",
        "address": "http://127.0.0.1:8000",
        "port_open": True,
        "health_ok": True,
        "metrics_ok": True,
        "ever_answered": True,
        "parent_alive": True,
        "sleeping": False,
        "requests_running": 0.0,
        "requests_waiting": 0.0,
        "kv_used_ratio": 0.0,
        "block_size": 16,
        "gpu_memory_utilization": 0.92,
        "max_num_seqs": 256,
        "max_model_len": 8192,
        "tensor_parallel": len(gpus),
        "prompt_tokens_total": 0.0,
        "generation_tokens_total": 0.0,
        "requests_finished_total": 0.0,
        "preemptions_total": 0.0,
    }
    told = {"name": "vllm:8000", "engine": "vllm", **known, **values}
    return EngineReading(model=model, pid=server_pid, worker_pids=[worker_pid], gpus=gpus, **told)
