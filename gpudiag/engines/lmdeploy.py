"""LMDeploy. https://lmdeploy.readthedocs.io/en/latest/advance/metrics.html (read 2026-11)"""

from gpudiag.engines.exposition import Page, samples
from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import MAX, SUM, Table
from gpudiag.model import EngineReading


def _finish(reading: EngineReading, page: Page) -> None:
    running = samples(page, "lmdeploy:num_requests_running")
    reading.model = next((s.labels["model_name"] for s in running if "model_name" in s.labels), None)
    at_the_door = samples(page, "lmdeploy:num_api_requests_waiting")
    if at_the_door:  # requests that no engine slot has taken yet wait as well
        reading.requests_waiting = (reading.requests_waiting or 0.0) + sum(s.value for s in at_the_door)


LMDEPLOY = Table(
    engine="lmdeploy",
    port=23333,
    marks=("lmdeploy:",),
    metrics_flag="--enable-metrics",
    gauges={
        "requests_running": (SUM, ("lmdeploy:num_requests_running",)),
        "requests_waiting": (SUM, ("lmdeploy:num_requests_waiting",)),
        "kv_used_ratio": (MAX, ("lmdeploy:gpu_cache_usage_perc",)),  # Turbomind counts cached blocks as used
    },
    counters={
        "prompt_tokens_total": (SUM, ("lmdeploy:prompt_tokens_total",)),
        "generation_tokens_total": (SUM, ("lmdeploy:generation_tokens_total",)),
        "requests_finished_total": (
            SUM,
            ("lmdeploy:num_requests_finished", "lmdeploy:num_api_requests_finished"),
        ),
    },
    histograms={
        "first_token_seconds_p95": ("lmdeploy:time_to_first_token_seconds",),
        "inter_token_seconds_p95": (
            "lmdeploy:inter_token_latency_seconds",
            "lmdeploy:time_per_output_token_seconds",
        ),
    },
    finish=_finish,
    port_flags=("--server-port", "--port"),
    flags=Flags(
        {
            "max_num_seqs": ("--max-batch-size",),
            "max_model_len": ("--session-len",),
            "tensor_parallel": ("--tp",),
        },
        model_after=("api-server", "api_server"),
    ),
)
