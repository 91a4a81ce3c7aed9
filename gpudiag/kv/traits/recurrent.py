"""Layers with a state of constant size: Mamba, gated DeltaNet, KDA, lightning attention, convolutions."""

from __future__ import annotations

from typing import Any

from gpudiag.kv.config import Config, positive
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Part, State
from gpudiag.kv.traits.heads import head_dim, hidden_size, query_heads

N_GRAMS = "n-grams"


def mamba1(config: Config, layer: int) -> tuple[Part, ...]:
    inner = _inner(config)
    state = config.number("mamba_d_state", "state_size", default=16)
    kernel = config.number("mamba_d_conv", "conv_kernel", default=4)
    return (State("mamba", kernel, inner, inner * state, inner, matrix_dtype=_asked(config)),)


def mamba2(config: Config, layer: int) -> tuple[Part, ...]:
    heads = config.number("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads")
    width = config.text.get("mamba_head_dim") or config.text.get("mamba_d_head")
    width = width or config.text.get("mamba_headdim") or config.text.get("head_dim")
    inner = int(config.text.get("mamba_d_ssm") or 0)
    if not inner:
        inner = heads * int(width) if isinstance(width, int) else _inner(config)
    state = config.number("ssm_state_size", "mamba_d_state", "state_size", default=128)
    groups = config.number("n_groups", "mamba_n_groups", "mamba_ngroups", default=1)
    kernel = config.number("conv_kernel", "mamba_d_conv", default=4)
    return (State("mamba2", kernel, inner, inner * state, heads, groups, 2 * state, _asked(config)),)


def gated_delta(config: Config, layer: int) -> tuple[Part, ...]:
    keys, values = config.number("linear_num_key_heads"), config.number("linear_num_value_heads")
    key_dim, value_dim = config.number("linear_key_head_dim"), config.number("linear_value_head_dim")
    kernel = config.number("linear_conv_kernel_dim", default=4)
    width = 2 * keys * key_dim + values * value_dim
    matrix = values * value_dim * key_dim
    return (State("gated delta", kernel, width, matrix, values, matrix_dtype=_asked(config)),)


def n_grams(config: Config, layer: int) -> tuple[Part, ...]:
    """Qwen 4: some layers, counted from 1, convolve what they look up for the last tokens.

    The tail is as wide as all residual streams, and every GPU keeps the whole of it.
    """
    if layer + 1 not in (config.text.get("ple_layer_ids") or ()):
        return ()
    width = hidden_size(config) * config.number("hc_count", default=1)
    columns = (config.number("ple_conv_kernel_size", default=4) - 1) * config.number("ngram_size", default=3)
    return (State(N_GRAMS, columns + 1, 0, 0, 0, groups=1, group_width=width),)


def kda(config: Config, layer: int) -> tuple[Part, ...]:
    inner = config.text.get("linear_attn_config")
    if isinstance(inner, dict):
        heads, dim = (_inside(inner, name) for name in ("num_heads", "head_dim"))
        kernel = int(inner.get("short_conv_kernel_size") or 4)
    else:
        heads = config.number("linear_num_heads", default=query_heads(config, layer))
        dim = config.number("linear_head_dim", default=head_dim(config, layer))
        kernel = config.number("linear_conv_kernel_dim", "short_conv_kernel_size", default=4)
    return (State("kda", kernel, 3 * heads * dim, heads * dim * dim, heads, matrix_dtype="f32"),)


def _inside(inner: dict[str, Any], name: str) -> int:
    named = f"linear_attn_config.{name}"
    if inner.get(name) is None:
        raise KvError("refused-config-missing", name=named)
    return positive(inner[name], named)


def lightning(config: Config, layer: int) -> tuple[Part, ...]:
    heads, dim = query_heads(config, layer), head_dim(config, layer)
    return (State("lightning", 1, 0, heads * dim * dim, heads, matrix_dtype=_asked(config)),)


def short_conv(config: Config, layer: int) -> tuple[Part, ...]:
    width = config.number("conv_dim", default=hidden_size(config))
    kernel = config.number("conv_L_cache", default=3)
    return (State("short convolution", kernel, width, 0, width),)


# Models without a feed-forward part: their intermediate size is the width of the state space.
PURE = ("mamba", "falcon_mamba", "mamba2")


def _inner(config: Config) -> int:
    explicit = config.text.get("mamba_intermediate_size") or config.text.get("d_inner")
    if config.family in PURE:
        explicit = explicit or config.text.get("intermediate_size")
    if explicit:
        return int(explicit)
    expand = config.text.get("mamba_expand") or config.text.get("expand") or 2
    return int(expand * hidden_size(config))


def _asked(config: Config) -> str | None:
    """The dtype that the config asks for the recurrent matrix; None: the model's own."""
    named = config.get("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    return None if named in (None, "auto") else str(named).removeprefix("torch.")
