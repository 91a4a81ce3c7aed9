"""An engine's own text says that its KV cache got no room, so that it does not start."""

from collections.abc import Iterator

from gpudiag.model import CacheShortage, Evidence
from gpudiag.rule import MEMORY, Fires, measured, rule
from gpudiag.window import Window

TEXT = "pasted text"
SHARE = {"sglang": "mem_fraction_static"}
VARIANTS = {"too_long": "too-long", "not_free": "not-free"}


@rule(severity="warning", rank=MEMORY, confidence="proven", given=("pasted",))
def kv_pool_too_small(node: Window) -> Iterator[Fires]:
    """An inference engine did not start: there is no room for its KV cache."""
    paste = node.latest.paste if node.latest else None
    for shortage in (paste.cache_shortages if paste else None) or ():
        yield Fires(
            tuple(_evidence(shortage)),
            variant="sglang" if shortage.engine == "sglang" else VARIANTS.get(shortage.reason),
            key=f"{shortage.engine}:{shortage.reason}",
            words={"fits": str(shortage.longest_len or "N")},
        )


def _evidence(shortage: CacheShortage) -> Iterator[Evidence]:
    told = (
        ("engine", shortage.engine, None),
        ("model_len", shortage.model_len, None),
        ("longest_len", shortage.longest_len, shortage.model_len),
        ("needed_bytes", shortage.needed_bytes, None),
        ("available_bytes", shortage.available_bytes, shortage.needed_bytes),
        ("free_bytes", shortage.free_bytes, shortage.total_bytes),
        ("wanted_bytes", shortage.wanted_bytes, shortage.total_bytes),
        (SHARE.get(shortage.engine, "gpu_memory_utilization"), shortage.wanted_ratio, None),
    )
    for name, value, whole in told:
        if value is not None:
            yield measured(name, value, of=whole, source=TEXT)
