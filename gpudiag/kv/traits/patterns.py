"""Which kind each layer is: the many ways in which configs say it, tried in order.

A reader returns one kind name per layer, or None when the config does not use its way.
The names are those of `kinds.KINDS`; a name that is not there is reported by `kinds`, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudiag.kv.config import Config, inside, positive
from gpudiag.kv.errors import KvError, UnknownLayer
from gpudiag.kv.families import families
from gpudiag.kv.traits.heads import LAYERS
from gpudiag.kv.traits.latent import is_latent

Kinds = list[str]

MOST_LAYERS = 10_000
COMPRESSED = (0, 4, 128)  # tokens per row; 0: none but those of the window
NEMOTRON_LETTERS = {"M": "mamba2", "*": "attention", "-": "mlp", "E": "moe"}


def layer_kinds(config: Config) -> Kinds:
    """One kind name per layer, in order."""
    for reader in READERS:
        kinds: Kinds | None = reader(config)
        if kinds is not None:
            positive(len(kinds), "number of layers", most=MOST_LAYERS)
            return kinds
    raise AssertionError("the last reader always answers")


def count(config: Config) -> int:
    """Number of layers, from its own key or from the length of a per-layer list."""
    for name in LAYERS:
        if config.text.get(name) is not None:
            return positive(config.text[name], name, most=MOST_LAYERS)
    for name in ("layers_block_type", "layer_types", "block_configs", "hybrid_override_pattern"):
        value = config.text.get(name)
        if isinstance(value, (list, str)) and value:
            return len(value)
    raise KvError("refused-config-missing", name="num_hidden_layers")


def block_configs(config: Config) -> Kinds | None:
    """DeciLM, Nemotron-NAS: a search decided per layer which ones keep attention."""
    blocks = config.text.get("block_configs")
    if not isinstance(blocks, list):
        return None
    kinds = []
    for layer, block in enumerate(blocks[: _at_least(blocks, config, "block_configs")]):
        part = inside(inside(block, f"block_configs[{layer}]").get("attention"), f"block_configs[{layer}]")
        kept = not (part.get("no_op") or part.get("replace_with_linear"))
        kinds.append("block attention" if kept else "no_op")
    return kinds


def compress_ratios(config: Config) -> Kinds | None:
    """DeepSeek V4. The list may carry one entry more, for the draft layer."""
    ratios = config.text.get("compress_ratios")
    if not isinstance(ratios, list):
        return None
    if config.has("kv_source_layer_ids"):  # V4.1: most layers read what an earlier one compressed
        raise UnknownLayer("refused-layer-design", family=config.family, name="kv_source_layer_ids")
    layers = _at_least(ratios, config, "compress_ratios")
    for layer, ratio in enumerate(ratios[:layers]):
        if ratio is not None and ratio not in COMPRESSED:
            known = ", ".join(str(one) for one in COMPRESSED)
            raise UnknownLayer("refused-layer-kind", layer=layer, kind=f"compress ratio {ratio}", known=known)
    return ["compressed"] * layers


def kimi_linear(config: Config) -> Kinds | None:
    """Kimi-Linear, Kimi-K3: lists of layers that count from 1."""
    lists = config.text.get("linear_attn_config")
    if not isinstance(lists, dict):
        return None
    linear = lists.get("kda_layers") or ()
    return ["kda" if layer + 1 in linear else "attention" for layer in range(count(config))]


def override_pattern(config: Config) -> Kinds | None:
    """Nemotron-H: one letter per layer."""
    letters = config.text.get("hybrid_override_pattern")
    if not isinstance(letters, str):
        return None
    unknown = sorted(set(letters) - set(NEMOTRON_LETTERS))
    if unknown:
        known = ", ".join(NEMOTRON_LETTERS)
        raise UnknownLayer(
            "refused-layer-letter", name="hybrid_override_pattern", letter=unknown[0], known=known
        )
    layers = _at_least(letters, config, "hybrid_override_pattern")
    return [NEMOTRON_LETTERS[letter] for letter in letters[:layers]]


def block_types(config: Config) -> Kinds | None:
    names = config.text.get("layers_block_type")
    return _names(names, config, "layers_block_type")


def zamba(config: Config) -> Kinds | None:
    """The first Zamba: its third layer, and every `attn_layer_period`-th after it, runs a shared block."""
    if config.family != "zamba":
        return None
    period, offset = config.text.get("attn_layer_period") or 6, config.text.get("attn_layer_offset")
    after = 4 if offset is None else offset
    hybrid = [layer == 2 or (layer > 2 and (layer - 3) % period == after) for layer in range(count(config))]
    return ["hybrid" if runs else "mamba" for runs in hybrid]


def jamba(config: Config) -> Kinds | None:
    """Every `attn_layer_period`-th layer attends, the others are Mamba."""
    period = config.text.get("attn_layer_period")
    if not period:
        return None
    offset = config.text.get("attn_layer_offset") or 0
    return ["attention" if layer % period == offset else "mamba1" for layer in range(count(config))]


def attention_indices(config: Config) -> Kinds | None:
    """Bamba and LFM2 list the layers that attend."""
    indices, other = config.text.get("attn_layer_indices"), "mamba2"
    if not isinstance(indices, list):
        indices, other = config.text.get("full_attn_idxs"), "conv"
    if not isinstance(indices, list):
        return None
    return ["attention" if layer in indices else other for layer in range(count(config))]


def bailing(config: Config) -> Kinds | None:
    """Ring and Ling: the last layer of each group attends, and those that fill no group.

    The others are lightning attention, or KDA where a short convolution goes before it.
    """
    size = config.text.get("layer_group_size")
    if not size or not config.family.startswith("bailing"):
        return None
    size, layers = positive(size, "layer_group_size"), count(config)
    other = "kda" if config.has("short_conv_kernel_size") else "lightning"
    whole = layers // size * size
    return ["attention" if layer >= whole or (layer + 1) % size == 0 else other for layer in range(layers)]


def minimax(config: Config) -> Kinds | None:
    """MiniMax-01: 1 attends, 0 is lightning attention."""
    types = config.text.get("attn_type_list")
    if not isinstance(types, list):
        return None
    layers = _at_least(types, config, "attn_type_list")
    return ["attention" if kind == 1 else "lightning" for kind in types[:layers]]


def sparse_blocks(config: Config) -> Kinds | None:
    """MiniMax-M3: 1 where a layer also keeps the keys its block index searches."""
    sparse = config.text.get("sparse_attention_config")
    if not isinstance(sparse, dict) or not sparse.get("use_sparse_attention", True):
        return None
    marks = sparse.get("sparse_attention_freq")
    if not isinstance(marks, list):
        return None
    _at_least(marks, config, "sparse_attention_freq")
    return ["block sparse" if mark else "attention" for mark in marks[: count(config)]]


def mimo(config: Config) -> Kinds | None:
    """MiMo-V2: 0 attends to everything, 1 to a window."""
    marks = config.text.get("hybrid_layer_pattern")
    if not isinstance(marks, list):
        return None
    _at_least(marks, config, "hybrid_layer_pattern")
    return ["sliding_attention" if mark else "attention" for mark in marks[: count(config)]]


def cross_layers(config: Config) -> Kinds | None:
    """Llama 3.2 vision: some layers look at the image only."""
    indices = config.text.get("cross_attention_layers")
    if not isinstance(indices, list):
        return None
    return ["cross_attention" if layer in indices else "attention" for layer in range(count(config))]


def encoder_decoder(config: Config) -> Kinds | None:
    """Whisper, BART, T5; T5Gemma with windows. Either part of a nested config may carry the flag."""
    marked = any(part.get("is_encoder_decoder") for part in (config.root, config.text))
    if not marked and config.family not in ("whisper", "t5", "bart", "mbart"):
        return None
    own = layer_types(config) or ["full_attention"] * count(config)
    return ["sliding decoder" if kind == "sliding_attention" else "decoder" for kind in own]


def falcon_h1(config: Config) -> Kinds | None:
    """Attention and Mamba side by side in every layer."""
    return ["hybrid parallel"] * count(config) if config.family == "falcon_h1" else None


def pure_state(config: Config) -> Kinds | None:
    """Models without attention. RWKV and xLSTM are named so that `kinds` can say it does not know them."""
    kind = {"mamba": "mamba1", "falcon_mamba": "mamba1", "mamba2": "mamba2"}.get(config.family)
    if kind is None and config.family.startswith(("rwkv", "xlstm")):
        kind = config.family
    return [kind] * count(config) if kind else None


def layer_types(config: Config) -> Kinds | None:
    types = config.text.get("layer_types")
    if not isinstance(types, list):
        return None
    if config.text.get("use_sliding_window") is False:
        types = ["full_attention" if kind == "sliding_attention" else kind for kind in types]
    return _names(types, config, "layer_types")


def interval(config: Config) -> Kinds | None:
    """Qwen3-Next and later: every n-th layer attends, the others are gated DeltaNet."""
    every = config.text.get("full_attention_interval")
    if not every or not config.text.get("linear_num_value_heads"):
        return None
    return ["linear_attention" if (layer + 1) % every else "attention" for layer in range(count(config))]


def llama4(config: Config) -> Kinds | None:
    """Llama 4: layers with rotary positions see a chunk, every fourth one sees everything."""
    if not config.text.get("attention_chunk_size") or not config.family.startswith("llama4"):
        return None
    layers = count(config)
    marks = config.text.get("no_rope_layers")
    if not marks:
        every = config.text.get("no_rope_layer_interval") or 4
        marks = [(layer + 1) % every for layer in range(layers)]
    _at_least(marks, config, "no_rope_layers")
    return ["chunked_attention" if mark else "attention" for mark in marks[:layers]]


def window_pattern(config: Config) -> Kinds | None:
    """Gemma 3, Cohere 2 (n: every n-th layer is global), EXAONE 4 (letters), Gemma 2 (every second)."""
    if window(config) is None:
        return None
    pattern = config.text.get("sliding_window_pattern") or config.text.get("_sliding_window_pattern")
    if pattern is None:
        pattern = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4}.get(config.family)
    if pattern is None:
        return None
    if isinstance(pattern, str):
        return [_letter(pattern[layer % len(pattern)]) for layer in range(count(config))]
    return ["sliding_attention" if (layer + 1) % pattern else "attention" for layer in range(count(config))]


# Keys of designs whose layers differ. Where no reader above knows which layer is which, nobody should guess.
UNREADABLE = (
    "block_types",
    "mixer_types",
    "lru_width",
    "linear_num_heads",
    "linear_num_value_heads",
    "mamba_d_state",
    "mamba_num_heads",
    "mamba_n_heads",
    "ssm_state_size",
    "state_size",
    "conv_L_cache",
    "expand_k",
    "layer_group_size",
    "mb_per_layer",
)


def uniform(config: Config) -> Kinds:
    """All layers alike; from `max_window_layers` on with a window where Qwen2 says so."""
    for name in UNREADABLE:
        if config.has(name):
            raise UnknownLayer("refused-layer-design", family=config.family, name=name)
    layers = count(config)
    if window(config) is None or is_latent(config):
        return ["attention"] * layers
    first = config.text.get("max_window_layers") if config.text.get("use_sliding_window") else None
    return [
        "sliding_attention" if first is None or layer >= first else "attention" for layer in range(layers)
    ]


def assumes_alike(config: Config) -> bool:
    """Whether layers were taken to be alike without the config saying so, in a family nobody looked into."""
    if config.family in families():
        return False
    return all(reader(config) is None for reader in READERS[:-1])


def window(config: Config) -> int | None:
    """The sliding window that is really in use: null or switched off means none."""
    size, used = config.text.get("sliding_window"), config.text.get("use_sliding_window")
    if used is None:
        used = not config.family.startswith("qwen")  # theirs is off where the config does not say
    if not size or not used:
        return None
    return positive(size, "sliding_window")


READERS: tuple[Callable[[Config], Any], ...] = (
    block_configs,
    compress_ratios,
    kimi_linear,
    override_pattern,
    block_types,
    zamba,
    jamba,
    attention_indices,
    bailing,
    minimax,
    sparse_blocks,
    mimo,
    cross_layers,
    encoder_decoder,
    falcon_h1,
    pure_state,
    layer_types,
    interval,
    llama4,
    window_pattern,
    uniform,
)


def _letter(letter: str) -> str:
    kinds = {"L": "sliding_attention", "G": "attention"}
    if letter not in kinds:
        raise UnknownLayer("refused-layer-letter", name="sliding_window_pattern", letter=letter, known="L, G")
    return kinds[letter]


def _names(names: Any, config: Config, key: str) -> Kinds | None:
    if not isinstance(names, list):
        return None
    return [str(name) for name in names[: _at_least(names, config, key)]]


def _at_least(values: Sequence[Any], config: Config, key: str) -> int:
    layers = count(config)
    if len(values) < layers:
        raise KvError("refused-config-few", name=key, count=len(values), layers=layers)
    return layers
