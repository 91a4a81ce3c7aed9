"""TensorRT-LLM: `free_gpu_memory_fraction` of what the engine leaves free.

Source: https://nvidia.github.io/TensorRT-LLM/ (KvCacheConfig). Start logs of 2025 show
both defaults: 16.05 of 17.83 GiB, and blocks of 32 tokens; older ones have 64.
"""

from gpudiag.kv.engines.paged import PagedEngine


class TensorRt(PagedEngine):
    name = "tensorrt-llm"
    default_utilization = 0.9
    tokens_per_block = 32
    rule = "free-share"
