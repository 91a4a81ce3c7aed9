"""Text Generation Inference. Token counts only exist as sums of histograms; there is no gauge of the KV pool.

https://huggingface.co/docs/text-generation-inference/reference/metrics (read 2026-11)
"""

from gpudiag.engines.exposition import Page, values
from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import SUM, Table
from gpudiag.model import EngineReading


def _finish(reading: EngineReading, page: Page) -> None:
    tokens = values(page, "tgi_batch_current_max_tokens")
    if tokens and tokens[0] > 0:
        reading.pool_tokens = int(tokens[0])


TGI = Table(
    engine="tgi",
    port=80,
    marks=("tgi_",),
    gauges={
        "requests_running": (SUM, ("tgi_batch_current_size",)),
        "requests_waiting": (SUM, ("tgi_queue_size",)),
    },
    counters={
        "prompt_tokens_total": (SUM, ("tgi_request_input_length_sum",)),
        "generation_tokens_total": (SUM, ("tgi_request_generated_tokens_sum",)),
        "requests_finished_total": (SUM, ("tgi_request_success",)),
    },
    histograms={"inter_token_seconds_p95": ("tgi_request_mean_time_per_token_duration",)},
    finish=_finish,
    port_flags=("--port", "-p"),
    flags=Flags(
        {
            "max_num_seqs": ("--max-batch-size",),
            "max_model_len": ("--max-total-tokens",),
            "tensor_parallel": ("--num-shard",),
            "gpu_memory_utilization": ("--cuda-memory-fraction",),
        },
        model=("--model-id",),
    ),
)
