"""What a layer keeps in memory for a sequence: one small class per design.

A layer of a model holds a tuple of these; an empty tuple keeps nothing (MLP, MoE, no-op, shared KV).
They hold geometry only. Bytes are the business of `cache.py`, which knows dtypes and sharding.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attention:
    """Keys and values of every token, or of the last `window` ones.

    `chunked`: the window does not slide, it starts anew every `window` tokens (Llama 4).
    `index_dim`: width of an extra key that a block-sparse layer searches, one per token (MiniMax-M3) or
    one for `index_pool` of them (Qwen 4).
    """

    kv_heads: int
    query_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    chunked: bool = False
    index_dim: int = 0
    index_pool: int = 1


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention (MLA): one compressed row per token, the same on every GPU.

    Not doubled (keys and values come from the same row) and not divided by tensor parallelism.
    `index_dim`: width of the sparse-attention indexer's key (DeepSeek V3.2, GLM-5), 0 where the
    layer has no indexer of its own; `index_pool` tokens share one (GLM-5.3).
    `wide_fp8`: an fp8 row keeps its scales and a 16-bit rope part.
    """

    rank: int
    rope_dim: int
    query_heads: int
    unabsorbed_dims: int
    index_dim: int = 0
    index_pool: int = 1
    wide_fp8: bool = False


@dataclass(frozen=True, slots=True)
class CompressedLatent:
    """DeepSeek V4: one row per `ratio` tokens, plus a window of plain rows in every layer (beta)."""

    ratio: int
    width: int
    rope_dim: int
    query_heads: int
    index_dim: int
    window: int


@dataclass(frozen=True, slots=True)
class State:
    """A state of constant size per sequence: convolution tail and recurrent matrix.

    `conv_width` channels × (`conv_kernel` − 1) are kept, plus one column per speculative token.
    `groups` of `group_width` channels inside the convolution are repeated until every GPU has one.
    `matrix` elements are sharded by heads. `matrix_dtype` is what the config asks for, or None: the model's.
    """

    design: str
    conv_kernel: int
    conv_width: int
    matrix: int
    heads: int
    groups: int = 0
    group_width: int = 0
    matrix_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Keys and values of the encoder's output: constant per request, `positions` long."""

    kv_heads: int
    key_dim: int
    value_dim: int
    positions: int


Part = Attention | Latent | CompressedLatent | State | CrossAttention
