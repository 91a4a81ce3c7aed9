"""Attention heads: how many queries, keys and values, and how wide, under every key families use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudiag.kv.config import Config, positive
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Attention

# An encoder-decoder's other keys count its encoder; the cache is the decoder's.
LAYERS = (
    "decoder_layers",
    "num_decoder_layers",
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "num_transformer_layers",
)
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model", "model_dim")
QUERY = (
    "decoder_attention_heads",
    "num_attention_heads",
    "n_head",
    "n_heads",
    "num_heads",
    "num_query_heads",
)
# vLLM's order of looking for the number of KV heads.
KEY_VALUE = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)
PER_LAYER = ("num_key_value_heads_per_layer", "num_kv_heads_per_layer")
HEAD_DIM = ("head_dim", "hidden_size_per_head", "attention_head_dim", "kv_channels", "d_kv")


def hidden_size(config: Config) -> int:
    return config.number(*HIDDEN)


def query_heads(config: Config, layer: int = 0) -> int:
    for name in QUERY:
        value = config.text.get(name)
        if isinstance(value, list):
            return positive(_entry(value, layer, name), name)
        if value is not None:
            return positive(value, name)
    raise KvError("refused-config-missing", name="num_attention_heads")


def kv_heads(config: Config, layer: int) -> int:
    """KV heads of one layer before sharding; 0 where the layer keeps nothing."""
    for name in PER_LAYER:
        value = config.text.get(name)
        if isinstance(value, list):
            return _heads_entry(value, layer, name)
    for place in (config.text, config.text.get("attn_config") or {}):
        for name in (*KEY_VALUE, "kv_n_heads"):
            value = place.get(name) if isinstance(place, dict) else None
            if value is None or _old_falcon_key(config, name):
                continue
            if isinstance(value, list):
                return _heads_entry(value, layer, name)
            return _checked(config, positive(value, name), name, layer)
    return 1 if _multi_query(config) else query_heads(config, layer)


def head_dim(config: Config, layer: int = 0) -> int:
    """The explicit head size where the config has one: it is not hidden ÷ heads in Qwen3, Gemma, Nemo …"""
    for name in HEAD_DIM:
        value = config.text.get(name)
        if isinstance(value, list):
            return positive(_entry(value, layer, name), name)
        if value is not None and value != 0:
            return positive(value, name)
    plain, rotated = (config.text.get(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim"))
    if plain and rotated and not config.text.get("kv_lora_rank"):  # a latent model's heads, kept expanded
        return positive(plain, "qk_nope_head_dim") + positive(rotated, "qk_rope_head_dim")
    hidden, heads = hidden_size(config), query_heads(config, layer)
    if hidden % heads:
        raise KvError("refused-config-hidden", hidden=hidden, heads=heads)
    return hidden // heads


def value_dim(config: Config, layer: int = 0) -> int:
    named = config.text.get("v_head_dim")
    return positive(named, "v_head_dim") if named else head_dim(config, layer)


def attention(config: Config, layer: int) -> tuple[Attention, ...]:
    """A full-attention layer; nothing where the list of heads says 0."""
    heads = kv_heads(config, layer)
    if heads == 0:
        return ()
    part = Attention(heads, query_heads(config, layer), head_dim(config, layer), value_dim(config, layer))
    if has_indexer(config):
        pool = config.number("indexer_compress_ratio", default=1)
        part = replace(part, index_dim=config.number("indexer_head_dim"), index_pool=pool)
    return (part,)


def has_indexer(config: Config) -> bool:
    """Qwen 4: every layer that attends also keeps one key for a few tokens, and searches those first."""
    return bool(config.text.get("indexer_head_dim")) and bool(config.text.get("indexer_n_heads"))


def _multi_query(config: Config) -> bool:
    if config.family in ("falcon", "RefinedWeb", "RefinedWebModel"):
        return config.flag("multi_query") and not config.flag("new_decoder_architecture")
    inner = config.text.get("attn_config") or {}  # MPT
    return config.flag("multi_query") or inner.get("attn_type") == "multiquery_attention"


def _old_falcon_key(config: Config, name: str) -> bool:
    """Old Falcon configs carry `num_kv_heads` = all heads although they share one; the flag decides."""
    family = config.family in ("falcon", "RefinedWeb", "RefinedWebModel")
    return family and name != "n_head_kv" and not config.flag("new_decoder_architecture")


def _checked(config: Config, heads: int, name: str, layer: int) -> int:
    queries = query_heads(config, layer)
    if heads > queries or queries % heads:
        raise KvError("refused-config-heads", queries=queries, name=name, heads=heads)
    return heads


def _heads_entry(values: list[Any], layer: int, name: str) -> int:
    value = _entry(values, layer, name)
    return 0 if value in (0, None) else positive(value, name)


def _entry(values: list[Any], layer: int, name: str) -> Any:
    if layer >= len(values):
        raise KvError("refused-config-entry", name=name, count=len(values), layer=layer)
    return values[layer]
