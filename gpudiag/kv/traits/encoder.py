"""Decoders that also look at an encoder's output: Whisper, BART, T5, Llama 3.2 vision."""

from __future__ import annotations

from gpudiag.kv.config import Config
from gpudiag.kv.layers import CrossAttention, Part
from gpudiag.kv.traits.heads import head_dim, kv_heads, query_heads, value_dim


def cross_attention(config: Config, layer: int) -> tuple[Part, ...]:
    """Keys and values of the encoder's positions only; nothing per generated token."""
    heads = kv_heads(config, layer)
    return (CrossAttention(heads, head_dim(config, layer), value_dim(config, layer), _positions(config)),)


def decoder(config: Config, layer: int) -> tuple[Part, ...]:
    """A decoder layer of an encoder-decoder model: its own cache, and the encoder's."""
    from gpudiag.kv.traits.heads import attention

    heads, dim = query_heads(config, layer), head_dim(config, layer)
    return (*attention(config, layer), CrossAttention(heads, dim, dim, _positions(config)))


def _positions(config: Config) -> int:
    """Longest encoder output: audio frames, source tokens, or the patches of all image tiles."""
    named = config.get("max_source_positions", "max_encoder_position_embeddings", "n_positions")
    if named:
        return int(named)
    vision = config.root.get("vision_config") or {}
    image, patch = vision.get("image_size"), vision.get("patch_size")
    if image and patch:
        tiles = int(vision.get("max_num_tiles") or 1)
        return ((image // patch) ** 2 + 1) * tiles
    return config.number("max_position_embeddings", default=512)
