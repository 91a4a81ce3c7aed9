"""What a layer of each kind keeps: the table from kind names to parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudiag.kv.config import Config, positive
from gpudiag.kv.errors import KvError, UnknownLayer
from gpudiag.kv.layers import Attention, Part
from gpudiag.kv.traits import encoder, heads, latent, patterns, recurrent

Parts = tuple[Part, ...]

# transformers 5 calls sparse layers so: those of latent attention and of Qwen 4, whose files say it in two
# other ways.
INDEXED = "indexed_attention"


def parts_of(kind: str, config: Config, layer: int) -> Parts:
    """What layer number `layer`, of this kind, keeps. Raises UnknownLayer that names the kind."""
    reader = KINDS.get(kind)
    unindexed = not (latent.has_indexer(config) or heads.has_indexer(config))
    if reader is None or (kind == INDEXED and unindexed):
        known = ", ".join(sorted(name for name in KINDS if " " not in name))
        raise UnknownLayer("refused-layer-kind", layer=layer, kind=kind, known=known)
    return reader(config, layer)


def full(config: Config, layer: int) -> Parts:
    """Attention to everything. Gemma 4 gives these layers their own heads and head size."""
    if latent.is_latent(config):
        return latent.latent(config, layer)
    wide = int(config.text.get("global_head_dim") or 0)
    plain = heads.attention(config, layer)
    if not wide:
        return plain
    own = int(config.text.get("num_global_key_value_heads") or 0)
    if not own or config.text.get("attention_k_eq_v") is False:  # without it they are not read
        own = heads.kv_heads(config, layer)
    return tuple(replace(part, kv_heads=own, key_dim=wide, value_dim=wide) for part in plain)


def sliding(config: Config, layer: int) -> Parts:
    """Attention to a window. MiMo-V2 gives these layers their own heads and head sizes."""
    size = patterns.window(config)
    if latent.is_latent(config):
        return latent.latent(config, layer)
    if size is None:
        raise KvError("refused-layer-window", layer=layer)
    text = config.text
    return tuple(
        replace(
            part,
            kv_heads=int(text.get("swa_num_key_value_heads") or part.kv_heads),
            query_heads=int(text.get("swa_num_attention_heads") or part.query_heads),
            key_dim=int(text.get("swa_head_dim") or part.key_dim),
            value_dim=int(text.get("swa_v_head_dim") or text.get("swa_head_dim") or part.value_dim),
            window=size,
        )
        for part in heads.attention(config, layer)
    )


def chunked(config: Config, layer: int) -> Parts:
    size = config.number("attention_chunk_size")
    return tuple(replace(part, window=size, chunked=True) for part in heads.attention(config, layer))


def block_attention(config: Config, layer: int) -> Parts:
    """A layer of DeciLM: its KV heads follow from how many queries share one."""
    part = config.text["block_configs"][layer].get("attention") or {}
    group = part.get("n_heads_in_group")
    if not group:
        return heads.attention(config, layer)
    queries, dim = heads.query_heads(config), heads.head_dim(config)
    window = part.get("window_length")
    return (Attention(queries // positive(group, "n_heads_in_group"), queries, dim, dim, window or None),)


def block_sparse(config: Config, layer: int) -> Parts:
    width = int(config.text["sparse_attention_config"].get("sparse_index_dim") or 0)
    return tuple(replace(part, index_dim=width) for part in heads.attention(config, layer))


def decoder(config: Config, layer: int) -> Parts:
    """A layer of an encoder-decoder model: its own cache, and the encoder's."""
    return (*full(config, layer), encoder.encoder_output(config, layer))


def sliding_decoder(config: Config, layer: int) -> Parts:
    return (*sliding(config, layer), encoder.encoder_output(config, layer))


def parallel(config: Config, layer: int) -> Parts:
    return (*heads.attention(config, layer), *mamba(config, layer))


def mamba(config: Config, layer: int) -> Parts:
    """Plain "mamba" in a list of layer types: the second generation where its heads are given."""
    reader = recurrent.mamba2 if _second_mamba(config) else recurrent.mamba1
    return reader(config, layer)


def linear(config: Config, layer: int) -> Parts:
    """transformers 5 calls every layer with a state so; the keys beside it tell which design it is."""
    if config.has("linear_num_value_heads"):
        return (*recurrent.gated_delta(config, layer), *recurrent.n_grams(config, layer))
    if config.has("linear_num_heads"):
        return recurrent.kda(config, layer)
    if _second_mamba(config) or config.family == "zamba":
        return mamba(config, layer)
    if config.family.startswith("minimax"):
        return recurrent.lightning(config, layer)
    raise KvError("refused-layer-linear", layer=layer)


def _second_mamba(config: Config) -> bool:
    if config.family == "zamba":  # of the first generation, although its heads are given
        return False
    return any(config.has(name) for name in ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads"))


def nothing(config: Config, layer: int) -> Parts:
    return ()


KINDS: dict[str, Callable[[Config, int], Parts]] = {
    "attention": full,
    "full_attention": full,
    "global_attention": full,
    "sliding_attention": sliding,
    "local_attention": sliding,
    "chunked_attention": chunked,
    "deepseek_sparse_attention": full,
    INDEXED: full,
    "qwen_sparse_attention": full,
    "block attention": block_attention,
    "block sparse": block_sparse,
    "compressed": latent.compressed,
    "linear_attention": linear,
    "kda": recurrent.kda,
    "lightning": recurrent.lightning,
    "mamba": mamba,
    "mamba1": recurrent.mamba1,
    "mamba2": recurrent.mamba2,
    "conv": recurrent.short_conv,
    "hybrid": parallel,
    "hybrid parallel": parallel,
    "cross_attention": encoder.cross_attention,
    "decoder": decoder,
    "sliding decoder": sliding_decoder,
    "mlp": nothing,
    "moe": nothing,
    "no_op": nothing,
}
