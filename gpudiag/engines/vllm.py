"""vLLM, old and new metric names. https://docs.vllm.ai/en/stable/usage/metrics/ (read 2026-11)"""

from gpudiag.engines.exposition import Page, samples
from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import MAX, SUM, Table
from gpudiag.model import EngineReading


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text and text not in ("None", "null") else None
    except ValueError:
        return None


def _finish(reading: EngineReading, page: Page) -> None:
    info = samples(page, "vllm:cache_config_info")
    if info:
        labels = info[0].labels
        blocks, size = _number(labels.get("num_gpu_blocks")), _number(labels.get("block_size"))
        reading.gpu_memory_utilization = _number(labels.get("gpu_memory_utilization"))
        reading.kv_dtype = labels.get("cache_dtype")
        tokens = _number(labels.get("kv_cache_size_tokens"))
        reading.pool_tokens = None if tokens is None else int(tokens)
        declared = _number(labels.get("kv_cache_memory_bytes"))
        reading.pool_bytes = None if declared is None else int(declared)
        if blocks is not None and size is not None:
            reading.pool_blocks = int(blocks)
            reading.block_size = int(size)
    running = samples(page, "vllm:num_requests_running")
    reading.model = next((s.labels["model_name"] for s in running if "model_name" in s.labels), None)
    reading.replicas = len({s.labels.get("engine", "0") for s in running}) or None
    by_reason = [s for s in samples(page, "vllm:num_requests_waiting_by_reason") if s.value > 0]
    if by_reason:
        reading.waiting_reason = max(by_reason, key=lambda s: s.value).labels.get("reason")
    asleep = samples(page, "vllm:engine_sleep_state")
    if asleep:
        reading.sleeping = any(s.value > 0 for s in asleep if s.labels.get("sleep_state", "") != "awake")


VLLM = Table(
    engine="vllm",
    port=8000,
    marks=("vllm:",),
    gauges={
        "requests_running": (SUM, ("vllm:num_requests_running",)),
        "requests_waiting": (SUM, ("vllm:num_requests_waiting", "vllm:num_requests_waiting_by_reason")),
        # 1 means full, although the name says percent (vLLM, "Production Metrics")
        "kv_used_ratio": (MAX, ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")),
    },
    counters={
        "prompt_tokens_total": (SUM, ("vllm:prompt_tokens_total",)),
        "generation_tokens_total": (SUM, ("vllm:generation_tokens_total",)),
        "requests_finished_total": (SUM, ("vllm:request_success_total",)),
        "preemptions_total": (SUM, ("vllm:num_preemptions_total",)),
        "prefix_queries_total": (
            SUM,
            ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
        ),
        "prefix_hits_total": (SUM, ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")),
    },
    histograms={
        "first_token_seconds_p95": ("vllm:time_to_first_token_seconds",),
        "inter_token_seconds_p95": ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    },
    finish=_finish,
    flags=Flags(
        {
            "max_num_seqs": ("--max-num-seqs",),
            "max_model_len": ("--max-model-len",),
            "tensor_parallel": ("--tensor-parallel-size", "-tp"),
            "gpu_memory_utilization": ("--gpu-memory-utilization",),
            "kv_dtype": ("--kv-cache-dtype",),
            "block_size": ("--block-size",),
        },
        model=("--model",),
        model_after=("serve",),
    ),
)
