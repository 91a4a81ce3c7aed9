"""LMDeploy: `cache_max_entry_count` of the memory that is free after the weights (since 0.2.1)."""

from gpudiag.kv.engines.paged import PagedEngine


class LmDeploy(PagedEngine):
    name = "lmdeploy"
    default_utilization = 0.8
    tokens_per_block = 64
