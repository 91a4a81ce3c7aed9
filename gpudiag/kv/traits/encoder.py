"""Encoders, which keep nothing, and decoders that look at one's output: Whisper, BART, Llama 3.2 vision."""

from __future__ import annotations

from typing import Any

from gpudiag.kv.config import Config
from gpudiag.kv.layers import CrossAttention, Part
from gpudiag.kv.traits.heads import head_dim, kv_heads

# Families that read a whole input at once and generate nothing.
ENCODERS = {
    "bert",
    "roberta",
    "xlm-roberta",
    "distilbert",
    "albert",
    "electra",
    "deberta",
    "deberta-v2",
    "modernbert",
    "nomic_bert",
    "mpnet",
    "longformer",
    "vit",
    "clip",
    "clip_vision_model",
    "siglip",
    "siglip2",
    "siglip_vision_model",
    "dinov2",
    "wav2vec2",
    "hubert",
}


def is_encoder(config: Config) -> bool:
    """Known by family, by a task that fills in masks, by segment types (BERT), or by looking both ways."""
    text, names = config.text, config.architectures
    if config.family in ENCODERS:
        return True
    if any(name.endswith("ForMaskedLM") or "Bidirectional" in name for name in names):
        return True
    if text.get("use_bidirectional_attention") is True and any(name.endswith("Model") for name in names):
        return True  # EmbeddingGemma; PaliGemma carries the key too, and generates
    generates = text.get("is_decoder") or config.root.get("is_encoder_decoder")
    return "type_vocab_size" in text and not generates


def cross_attention(config: Config, layer: int) -> tuple[Part, ...]:
    """Keys and values of the encoder's positions only; nothing per generated token."""
    return (encoder_output(config, layer),)


def encoder_output(config: Config, layer: int) -> CrossAttention:
    """What a decoder layer of an encoder-decoder model keeps of the encoder."""
    dim = head_dim(config, layer)
    return CrossAttention(kv_heads(config, layer), dim, dim, _positions(config))


def _positions(config: Config) -> int:
    """Longest encoder output: audio frames, source tokens, or the patches of all image tiles."""
    named = config.get("max_source_positions", "max_encoder_position_embeddings", "n_positions")
    if named:
        return int(named)
    vision = config.root.get("vision_config") or {}
    image, patch = _side(vision.get("image_size")), _side(vision.get("patch_size"))
    if image and patch:
        tiles = int(vision.get("max_num_tiles") or 1)
        return ((image // patch) ** 2 + 1) * tiles
    return config.number("max_position_embeddings", default=512)


def _side(size: Any) -> int:
    """One side of a picture or patch that may be given as height and width; 0 when not given."""
    first = size[0] if isinstance(size, list) and size else size
    return int(first or 0)
