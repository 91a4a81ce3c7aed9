"""TensorRT-LLM: `trtllm-serve`, whose /metrics is JSON and whose Prometheus page lies below /prometheus.

https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html (read 2026-11)
"""

from gpudiag.engines.exposition import Page, values
from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import MAX, SUM, Table
from gpudiag.model import EngineReading


def _finish(reading: EngineReading, page: Page) -> None:
    blocks, size = (
        values(page, "trtllm_kv_cache_max_blocks"),
        values(page, "trtllm_kv_cache_tokens_per_block"),
    )
    if blocks and size:
        reading.pool_blocks, reading.block_size = int(sum(blocks)), int(size[0])
        reading.pool_tokens = reading.pool_blocks * reading.block_size


TENSORRT_LLM = Table(
    engine="tensorrt-llm",
    port=8000,
    metrics_path="/prometheus/metrics",
    metrics_flag="return_perf_metrics: true",
    marks=("trtllm_", "trtllm:"),
    gauges={
        "requests_running": (SUM, ("trtllm_num_requests_running",)),
        "requests_waiting": (SUM, ("trtllm_num_requests_waiting",)),
        "kv_used_ratio": (MAX, ("trtllm_kv_cache_utilization",)),
    },
    counters={
        "prompt_tokens_total": (SUM, ("trtllm_prompt_tokens_total",)),
        "generation_tokens_total": (SUM, ("trtllm_generation_tokens_total",)),
        "requests_finished_total": (SUM, ("trtllm_request_success_total",)),
    },
    histograms={
        "first_token_seconds_p95": ("trtllm_time_to_first_token_seconds",),
        "inter_token_seconds_p95": ("trtllm_time_per_output_token_seconds",),
    },
    finish=_finish,
    flags=Flags(
        {
            "max_num_seqs": ("--max-batch-size",),
            "max_model_len": ("--max-seq-len",),
            "tensor_parallel": ("--tp-size", "--tensor-parallel-size"),
        },
        model_after=("trtllm-serve", "serve"),
    ),
)
