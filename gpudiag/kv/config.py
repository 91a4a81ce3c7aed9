"""A config.json as published: where its keys hide, under all the names that families use."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from gpudiag.kv.errors import KvError
from gpudiag.kv.families import left_out
from gpudiag.kv.note import Note, note

Json = Any

# Keys that are calculated with. Their values are checked once, so that no reader meets a text or a NaN.
NUMBERS = frozenset(  # one word each, for a column of 130 lines would hide the code
    """num_hidden_layers n_layer n_layers num_layers decoder_layers num_decoder_layers num_transformer_layers
    hidden_size n_embd n_embed d_model model_dim num_attention_heads n_head n_heads num_heads num_query_heads
    decoder_attention_heads n_head_kv num_kv_heads num_key_value_heads multi_query_group_num kv_n_heads
    num_attention_groups num_key_value_heads_per_layer num_kv_heads_per_layer head_dim hidden_size_per_head
    linear_num_heads linear_head_dim attention_head_dim kv_channels d_kv v_head_dim kv_lora_rank
    q_lora_rank o_lora_rank o_groups
    qk_nope_head_dim qk_rope_head_dim index_head_dim index_n_heads index_topk_freq index_skip_topk_offset
    compress_ratios sliding_window sliding_window_size max_window_layers attention_chunk_size
    no_rope_layer_interval full_attention_interval attn_layer_period attn_layer_offset num_kv_shared_layers
    cla_share_factor global_head_dim num_global_key_value_heads swa_num_key_value_heads
    swa_num_attention_heads swa_head_dim swa_v_head_dim sparse_index_dim n_heads_in_group window_length
    mamba_d_state state_size ssm_state_size mamba_d_conv conv_kernel mamba_num_heads mamba_n_heads
    n_mamba_heads mamba_head_dim mamba_d_head mamba_headdim mamba_d_ssm mamba_intermediate_size d_inner
    mamba_expand expand n_groups mamba_n_groups mamba_ngroups mamba_dt_rank linear_num_key_heads
    linear_num_value_heads linear_key_head_dim linear_value_head_dim linear_conv_kernel_dim
    short_conv_kernel_size conv_dim conv_L_cache num_nextn_predict_layers mtp_num_hidden_layers
    num_mtp_layers vocab_size padded_vocab_size max_source_positions max_encoder_position_embeddings
    n_positions max_position_embeddings max_seq_len seq_length max_sequence_length max_target_positions
    max_seq_length seq_len model_max_length intermediate_size intermediate_size_mlp dense_intermediate_size
    ffn_hidden_size n_inner decoder_ffn_dim ffn_dim d_ff ffn_mult moe_intermediate_size
    expert_ffn_hidden_size moe_latent_size routed_expert_hidden_size shared_expert_intermediate_size
    moe_shared_expert_intermediate_size share_expert_dim n_routed_experts num_local_experts num_experts
    moe_num_experts n_shared_experts num_shared_experts first_k_dense_replace decoder_sparse_step
    num_dense_layers moe_layer_start_index moe_num_shared_experts num_shared_expert inner_hidden_size
    ff_intermediate_size shared_intermediate_size vocab_size_per_layer_input hidden_size_per_layer_input
    interleave_moe_layer_step expert_layer_period expert_layer_offset moe_layer_freq depth encoder_layers
    encoder_ffn_dim image_size patch_size max_num_tiles
    num_mem_blocks adapter_rank attention_hidden_size block_multiple_of block_ffn_dim_multiplier
    moe_hidden_size zero_expert_num layer_group_size index_kpool altup_num_inputs
    laurel_rank indexer_head_dim indexer_n_heads indexer_compress_ratio hc_count hc_lowrank ple_embed_dim
    ple_conv_kernel_size ngram_size
    bits w_bit num_bits""".split()  # noqa: SIM905
)
# Those of them that may hold one value per layer.
LISTS = frozenset(
    (
        "num_attention_heads",
        "num_query_heads",
        "num_kv_heads",
        "num_key_value_heads",
        "num_key_value_heads_per_layer",
        "num_kv_heads_per_layer",
        "head_dim",
        "compress_ratios",
        "moe_layer_freq",
        "intermediate_size",
        "moe_intermediate_size",
        "num_experts",
        "moe_num_experts",
        "n_shared_experts",
        "num_shared_expert",
        "moe_layer_start_index",
        "image_size",
    )
)
# Those of them that need not be whole.
FRACTIONS = frozenset(
    ("mamba_expand", "expand", "ffn_mult", "block_ffn_dim_multiplier", "bits", "w_bit", "num_bits")
)
# Keys that are looked into, and what they hold; of another form they would be passed over or break a reader.
FORMS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        (
            "attn_config",
            "ffn_config",
            "linear_attn_config",
            "sparse_attention_config",
            "quantization_config",
            "compression_config",
            "vision_config",
            "per_layer_config",
            "thinker_config",
        ),
        (dict,),
    ),
    **dict.fromkeys(
        (
            "layer_types",
            "layers_block_type",
            "block_configs",
            "attn_type_list",
            "attn_layer_indices",
            "full_attn_idxs",
            "hybrid_layer_pattern",
            "cross_attention_layers",
            "no_rope_layers",
            "mlp_only_layers",
            "mlp_layer_types",
            "kda_layers",
            "sparse_attention_freq",
            "indexer_types",
            "ple_layer_ids",
        ),
        (list,),
    ),
    "hybrid_override_pattern": (str,),
    "sliding_window_pattern": (str, int),
    "_sliding_window_pattern": (str, int),
}
MOST = 10**9
LONGEST_NAME = 200
MOST_ENTRIES = 10_000
MOST_DEPTH = 6

# Parts that see or hear; theirs may have a number per stage or per side of a picture.
TOWERS = ("vision", "audio", "speech", "encoder")

# What the first configs of Gemma 4 say of all full layers at once.
GLOBAL = ("global_head_dim", "num_global_key_value_heads")

# Where a multimodal config keeps the part that generates text, in the order engines look.
TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")


class Config:
    """Read-only view of one config: the text part first, the root behind it.

    `left_out` holds the keys that the text part leaves to its family's defaults, with their values.
    """

    __slots__ = ("left_out", "root", "text")

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root
        self.text = _text_part(root)
        self.left_out = left_out(self.family, self.text, nested=self.text is not root)
        if self.left_out:
            self.text = {**self.left_out, **self.text}

    def by_layer(self, layers: int) -> dict[int, Config]:
        """This config as single layers see it: transformers 5 keeps what differs in `per_layer_config`."""
        found: dict[int, Config] = {}
        for key, own in (self.text.get("per_layer_config") or {}).items():
            if int(key) < layers:
                seen = found[int(key)] = copy(self)
                seen.text = {**self.text, **dict.fromkeys(GLOBAL), **inside(own, f"per_layer_config.{key}")}
        return found

    def get(self, *names: str, default: Json = None) -> Json:
        """The first of `names` that is present and not null, in the text part, then in the root."""
        for place in (self.text, self.root):
            for name in names:
                value = place.get(name)
                if value is not None:
                    return value
        return default

    def has(self, name: str) -> bool:
        return self.text.get(name) is not None

    def number(self, *names: str, default: int | None = None) -> int:
        """A positive whole number of the text part. Raises KvError that names the first alias."""
        for name in names:
            value = self.text.get(name)
            if value is None:
                continue
            return positive(value, name)
        if default is None:
            raise KvError("refused-config-missing", name=names[0])
        return default

    @property
    def quantization(self) -> Mapping[str, Json]:
        """How the checkpoint is quantised; llm-compressor's first releases and MLX call it otherwise."""
        found = self.get("quantization_config", "compression_config", "quantization", default={})
        return found if isinstance(found, Mapping) else {}

    @property
    def called(self) -> str:
        """What the file itself calls its model."""
        named = self.get("_name_or_path")
        return named[:LONGEST_NAME] if isinstance(named, str) and named else self.family or "config.json"

    def flag(self, *names: str) -> bool:
        return bool(self.get(*names, default=False))

    @property
    def family(self) -> str:
        return str(self.text.get("model_type") or self.root.get("model_type") or "")

    @property
    def architectures(self) -> tuple[str, ...]:
        named = self.root.get("architectures") or self.text.get("architectures") or ()
        return tuple(str(name) for name in named) if isinstance(named, (list, tuple)) else ()

    @property
    def dtype(self) -> str:
        named = self.get("dtype", "torch_dtype", default="bfloat16")
        return str(named).removeprefix("torch.")


def positive(value: Json, name: str, most: int = 10**9) -> int:
    """`value` as a whole number from 1 to `most`. Raises KvError that says what stood there."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise KvError("refused-config-whole", name=name, value=value)
    if not 1 <= value <= most:
        raise KvError("refused-config-range", name=name, value=value, most=most)
    return int(value)


def inside(value: Json, name: str) -> Mapping[str, Json]:
    """`value` as an object; null is an empty one. Raises KvError that says what stood there."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise KvError("refused-config-kind", name=name, expected=note("json-object"), kind=_kind(value))
    return value


def _text_part(root: Mapping[str, Json]) -> Mapping[str, Json]:
    for name in TEXT_PARTS:
        part = root.get(name)
        if isinstance(part, Mapping) and part:
            inner = part.get("text_config")
            return inner if isinstance(inner, Mapping) and inner else part
    return root


def open_config(root: Json) -> Config:
    """A Config, or a KvError that says what this JSON is instead of a model's config."""
    if not isinstance(root, Mapping):
        raise KvError("refused-config-object", kind=_kind(root))
    if "peft_type" in root or "base_model_name_or_path" in root:
        base = root.get("base_model_name_or_path") or note("base-model")
        raise KvError("refused-config-adapter", base=base)
    if "_class_name" in root or "_diffusers_version" in root:
        raise KvError("refused-config-diffusion")
    if not root:
        raise KvError("refused-config-empty")
    if "quantization" in root and "producer" in root and "num_hidden_layers" not in root:
        raise KvError("refused-config-quant")
    if "dim" in root and "n_layers" in root and "hidden_size" not in root and "model_type" not in root:
        raise KvError("refused-config-params")
    _check(root)
    return Config(root)


def _check(part: Mapping[str, Json], depth: int = 0, tower: bool = False) -> None:
    """Raise KvError for a key of NUMBERS that holds no usable number, here or in nested objects."""
    for name, value in part.items():
        if value is None or (name == "mamba_dt_rank" and value == "auto"):
            continue
        if name in NUMBERS:
            _check_number(value, name, tower)
        elif name in FORMS and type(value) not in FORMS[name]:
            raise KvError("refused-config-kind", name=name, expected=_named(FORMS[name]), kind=_kind(value))
        elif name == "model_type" and not (isinstance(value, str) and len(value) <= 100):
            raise KvError("refused-config-type", kind=_kind(value))
        elif depth < MOST_DEPTH:
            for inner in value if isinstance(value, list) else (value,):
                if isinstance(inner, Mapping):
                    _check(inner, depth + 1, tower or any(word in str(name) for word in TOWERS))


def _check_number(value: Json, name: str, tower: bool) -> None:
    entries = value if isinstance(value, list) and (tower or name in LISTS) else (value,)
    if len(entries) > MOST_ENTRIES:
        raise KvError("refused-config-many", name=name, count=len(entries))
    for one in entries:
        usable = one is None or (isinstance(one, (int, float)) and not isinstance(one, bool))
        if not usable or (one is not None and not 0 <= one <= MOST):
            raise KvError("refused-config-number", name=name, most=MOST, shown=_shown(one))
        if isinstance(one, float) and one != int(one) and not tower and name not in FRACTIONS:
            raise KvError("refused-config-whole", name=name, value=one)


def _shown(value: Json) -> str | Note:
    return repr(value)[:40] if isinstance(value, (int, float, str)) else _kind(value)


KIND_NAMES = {list: "list", dict: "object", str: "string", int: "number", float: "number", bool: "boolean"}


def _kind(value: Json) -> Note:
    return note(f"json-{KIND_NAMES.get(type(value), 'null')}")


def _named(forms: tuple[type, ...]) -> Note:
    """What a key holds; the second of two forms is said with the first."""
    kinds = [note(f"json-{KIND_NAMES[form]}") for form in forms]
    return kinds[0] if len(kinds) == 1 else note("json-or", one=kinds[0], other=kinds[1])
