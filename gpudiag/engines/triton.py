"""Triton, alone or with the TensorRT-LLM backend; metrics on a port of their own.

https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/metrics.html
"""

from gpudiag.engines.exposition import Page, samples
from gpudiag.engines.reading import SUM, Table
from gpudiag.model import EngineReading

_REQUESTS = "nv_trt_llm_request_metrics"
_BLOCKS = "nv_trt_llm_kv_cache_block_metrics"


def _by(page: Page, metric: str, label: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for sample in samples(page, metric):
        kind = sample.labels.get(label, "")
        found[kind] = found.get(kind, 0.0) + sample.value
    return found


def _finish(reading: EngineReading, page: Page) -> None:
    requests, blocks = _by(page, _REQUESTS, "request_type"), _by(page, _BLOCKS, "kv_cache_block_type")
    if requests:
        running = max(requests.get("active", 0.0), requests.get("scheduled", 0.0))
        waiting = requests.get(
            "waiting", max(0.0, requests.get("active", 0.0) - requests.get("scheduled", 0.0))
        )
        reading.requests_running, reading.requests_waiting = running, waiting
    if blocks.get("max"):
        reading.kv_used_ratio = blocks.get("used", 0.0) / blocks["max"]
        reading.pool_blocks = int(blocks["max"])
        if "tokens_per" in blocks:
            reading.block_size = int(blocks["tokens_per"])
            reading.pool_tokens = reading.pool_blocks * reading.block_size
    models = {s.labels.get("model") for s in samples(page, "nv_inference_request_success")}
    reading.model = next(iter(models)) if len(models) == 1 else None


TRITON = Table(
    engine="triton",
    port=8002,
    metrics_apart=True,
    health_path=None,  # /v2/health/ready answers on the HTTP port, not on this one
    marks=("nv_inference_", "nv_trt_llm_"),
    gauges={"requests_waiting": (SUM, ("nv_inference_pending_request_count",))},
    counters={
        "requests_finished_total": (SUM, ("nv_inference_request_success",)),
        "prompt_tokens_total": (SUM, ("nv_llm_input_token_len_sum",)),
        "generation_tokens_total": (SUM, ("nv_llm_output_token_len_sum",)),
    },
    finish=_finish,
    port_flags=("--metrics-port",),
)
