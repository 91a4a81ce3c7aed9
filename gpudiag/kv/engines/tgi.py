"""Text Generation Inference: what its warm-up leaves free below `cuda_memory_fraction` of the GPU."""

from gpudiag.kv.engines.paged import PagedEngine


class Tgi(PagedEngine):
    name = "tgi"
    default_utilization = 1.0
    tokens_per_block = 1
    rule = "tgi-share"

    def _room(self, free: int, share: float, total: int) -> int:
        return int(free - (1 - share) * total)
