"""Multi-head latent attention: DeepSeek V2 to V4, Kimi, GLM-5, LongCat."""

from __future__ import annotations

from gpudiag.kv.config import Config
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Attention, CompressedLatent, Latent, Part
from gpudiag.kv.traits.heads import hidden_size, query_heads

# vLLM and llama.cpp keep the expanded keys and values for this family, although its config has a latent rank.
UNABSORBED = {"minicpm3"}
# Two attention blocks in each layer.
DOUBLE = {"longcat_flash", "longcat"}
# fp8 rows measured at the plain 576 bytes, without the scales that DeepSeek V3.2 keeps in each row.
PLAIN_FP8 = {"glm_moe_dsa"}


def is_latent(config: Config) -> bool:
    return bool(config.text.get("kv_lora_rank"))


def is_double(config: Config) -> bool:
    return config.family in DOUBLE


def has_indexer(config: Config) -> bool:
    return is_latent(config) and bool(config.text.get("index_head_dim"))


def latent(config: Config, layer: int) -> tuple[Part, ...]:
    part = absorbed(config, layer)
    if config.family in UNABSORBED:
        wide = part.unabsorbed_dims - value_dim(config)
        return (Attention(part.query_heads, part.query_heads, wide, wide),)
    return (part, part) if is_double(config) else (part,)


def absorbed(config: Config, layer: int = 0) -> Latent:
    """The latent row of a layer, whether or not engines keep it expanded."""
    rank = config.number("kv_lora_rank")
    rope = 0 if config.text.get("qk_rope_head_dim") == 0 else config.number("qk_rope_head_dim")  # GLM-5.3
    nope = config.number("qk_nope_head_dim", default=128)
    return Latent(
        rank=rank,
        rope_dim=rope,
        query_heads=query_heads(config, layer),
        unabsorbed_dims=nope + rope + value_dim(config),
        index_dim=index_dim(config, layer),
        index_pool=config.number("index_kpool", default=1),
        wide_fp8=bool(config.text.get("index_head_dim")) and config.family not in PLAIN_FP8,
    )


def value_dim(config: Config) -> int:
    if config.family in UNABSORBED and not config.has("v_head_dim"):
        return hidden_size(config) // query_heads(config)
    return config.number("v_head_dim", "qk_nope_head_dim", default=128)


def index_dim(config: Config, layer: int) -> int:
    """Width of this layer's indexer key; 0 where the layer uses the selection of an earlier one."""
    dim = int(config.text.get("index_head_dim") or 0)
    types = config.text.get("indexer_types")
    if isinstance(types, list) and layer < len(types):
        return dim if types[layer] == "full" else 0
    frequency = config.text.get("index_topk_freq") or 1
    if frequency > 1:
        offset = config.text.get("index_skip_topk_offset") or 0
        own = layer < offset or (layer - offset + 1) % frequency == 0
        return dim if own else 0
    return dim


def compressed(config: Config, layer: int) -> tuple[Part, ...]:
    ratio = config.text["compress_ratios"][layer]
    if ratio is None:
        raise KvError("refused-config-whole", name=f"compress_ratios[{layer}]", value=ratio)
    return (
        CompressedLatent(
            ratio=int(ratio),
            width=config.number("head_dim"),
            rope_dim=config.number("qk_rope_head_dim"),
            query_heads=query_heads(config, layer),
            index_dim=config.number("index_head_dim", default=128) if ratio == 4 else 0,
            window=config.number("sliding_window", default=128),
        ),
    )
