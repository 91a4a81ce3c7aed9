"""SGLang, with `--enable-metrics`.

https://docs.sglang.io/docs/references/production_metrics (read 2026-11)
"""

from gpudiag.engines.exposition import Page, samples
from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import MAX, SUM, Table
from gpudiag.model import EngineReading


def _finish(reading: EngineReading, page: Page) -> None:
    running = samples(page, "sglang:num_running_reqs")
    reading.model = next((s.labels["model_name"] for s in running if "model_name" in s.labels), None)
    reading.replicas = len({s.labels.get("dp_rank", "0") for s in running}) or None
    info = samples(page, "sglang:cache_config_info")
    if info:
        labels = info[0].labels
        if labels.get("page_size", "").isdigit() and labels.get("num_pages", "").isdigit():
            reading.block_size = int(labels["page_size"])
            reading.pool_blocks = int(labels["num_pages"])
            reading.pool_tokens = reading.block_size * reading.pool_blocks


SGLANG = Table(
    engine="sglang",
    port=30000,
    metrics_flag="--enable-metrics",
    marks=("sglang:",),
    gauges={
        "requests_running": (SUM, ("sglang:num_running_reqs",)),
        "requests_waiting": (SUM, ("sglang:num_queue_reqs",)),
        "kv_used_ratio": (MAX, ("sglang:token_usage",)),
        "pool_tokens": (MAX, ("sglang:max_total_num_tokens",)),
    },
    counters={
        "prompt_tokens_total": (SUM, ("sglang:prompt_tokens_total",)),
        "generation_tokens_total": (SUM, ("sglang:generation_tokens_total",)),
        "requests_finished_total": (SUM, ("sglang:num_requests_total",)),
        "steps_total": (SUM, ("sglang:realtime_tokens_total",)),
        "preemptions_total": (SUM, ("sglang:num_retractions_total", "sglang:num_retracted_reqs_total")),
    },
    histograms={
        "first_token_seconds_p95": ("sglang:time_to_first_token_seconds",),
        "inter_token_seconds_p95": (
            "sglang:inter_token_latency_seconds",
            "sglang:time_per_output_token_seconds",
        ),
    },
    finish=_finish,
    flags=Flags(
        {
            "max_num_seqs": ("--max-running-requests",),
            "max_model_len": ("--context-length",),
            "tensor_parallel": ("--tensor-parallel-size", "--tp-size", "--tp"),
            "gpu_memory_utilization": ("--mem-fraction-static",),
            "kv_dtype": ("--kv-cache-dtype",),
        },
        model=("--model-path", "--model"),
    ),
)
