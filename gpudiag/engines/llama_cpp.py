"""llama.cpp's server, with `--metrics`. Its KV cells are allocated whole at load; newer builds have no gauge.

https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (read 2026-11); builds around b7010
answered the page as one JSON string: https://github.com/ggml-org/llama.cpp/issues/17384
"""

from gpudiag.engines.flags import Flags
from gpudiag.engines.reading import MAX, SUM, Table

LLAMA_CPP = Table(
    engine="llama.cpp",
    port=8080,
    metrics_flag="--metrics",
    marks=("llamacpp:",),
    gauges={
        "requests_running": (SUM, ("llamacpp:requests_processing",)),
        "requests_waiting": (SUM, ("llamacpp:requests_deferred",)),
        "kv_used_ratio": (MAX, ("llamacpp:kv_cache_usage_ratio",)),
    },
    counters={
        "prompt_tokens_total": (SUM, ("llamacpp:prompt_tokens_total",)),
        "generation_tokens_total": (SUM, ("llamacpp:tokens_predicted_total",)),
        "steps_total": (SUM, ("llamacpp:n_decode_total",)),
    },
    flags=Flags(
        {
            "max_num_seqs": ("--parallel", "-np"),
            "max_model_len": ("--ctx-size", "-c"),
        },
        model=("--model", "-m"),
    ),
)
