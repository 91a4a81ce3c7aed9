"""Zamba: a few transformer blocks that many layers share, so that their weights are stored once.

Every layer has a Mamba mixer and no MLP. A hybrid one also runs a shared block (attention over the hidden
state beside the embedding, twice as wide, and an MLP), with adapters and a projection of its own.
Read from the released wheel of transformers 5.24 (`models/zamba`, `models/zamba2`).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudiag.kv.config import Config
from gpudiag.kv.layers import Attention, Part
from gpudiag.kv.matrices import Matrices
from gpudiag.kv.traits import heads

FAMILIES = ("zamba", "zamba2")


def shares_blocks(config: Config) -> bool:
    return config.family in FAMILIES


def own_matrices(config: Config) -> Iterator[Matrices]:
    """What a hybrid layer has for itself: its projection and, in Zamba 2, its adapters."""
    hidden = heads.hidden_size(config)
    yield Matrices("projection", hidden * hidden, sharded=False)
    if config.family != "zamba2":
        return
    rank = config.number("adapter_rank", default=128)
    yield Matrices("adapter", rank * (hidden + 2 * _inner(config, hidden)))
    if config.flag("use_shared_attention_adapter"):
        yield Matrices("adapter", 3 * rank * 4 * hidden)


def shared_matrices(config: Config, layers: tuple[tuple[Part, ...], ...]) -> list[Matrices]:
    """The blocks that these layers share; a pipeline stage without hybrid layers holds none."""
    part = next((part for parts in layers for part in parts if isinstance(part, Attention)), None)
    if part is None:
        return []
    hidden = heads.hidden_size(config)
    wide = config.number("attention_hidden_size", default=2 * hidden)
    hybrids = sum(any(isinstance(part, Attention) for part in parts) for parts in layers)
    blocks = min(hybrids, config.number("num_mem_blocks", default=1))
    query, width = part.query_heads * part.key_dim, part.kv_heads * (part.key_dim + part.value_dim)
    return [
        Matrices("attention", blocks * query * (wide + hidden)),
        Matrices("kv", blocks * wide * width, most_shards=part.kv_heads),
        Matrices("mlp", blocks * 3 * hidden * _inner(config, hidden)),
        Matrices("norm", blocks * (wide + hidden), linear=False, sharded=False),
    ]


def _inner(config: Config, hidden: int) -> int:
    return config.number("intermediate_size", default=4 * hidden)
