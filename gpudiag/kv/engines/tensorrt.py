"""TensorRT-LLM: `free_gpu_memory_fraction` of what the engine leaves free.

Source: https://nvidia.github.io/TensorRT-LLM/ (KvCacheConfig). The default block of 32 tokens is UNVERIFIED.
"""

from gpudiag.kv.engines.paged import PagedEngine


class TensorRt(PagedEngine):
    name = "tensorrt-llm"
    default_utilization = 0.9
    tokens_per_block = 32
