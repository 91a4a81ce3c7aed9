"""Bytes of weights on one GPU, computed from a config.json by counting its matrices.

A checkpoint's own total (safetensors index) is better and is used when a caller has it. What the count
does not see (vision towers, buffers, kernel padding) is said in the answer's assumptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from gpudiag.kv.cache import partition
from gpudiag.kv.config import Config
from gpudiag.kv.layers import Attention, CompressedLatent, CrossAttention, Latent, Part, State
from gpudiag.kv.quantization import Format
from gpudiag.kv.shape import ModelShape
from gpudiag.kv.traits import heads

# Families whose MLP has two matrices (up, down) instead of three (gate, up, down).
UNGATED = [
    "gpt2",
    "gpt_neox",
    "gpt_neo",
    "gptj",
    "gpt_bigcode",
    "opt",
    "bloom",
    "falcon",
    "RefinedWeb",
    "RefinedWebModel",
    "mpt",
    "phi",
    "starcoder2",
    "nemotron",
    "nemotron_h",
    "codegen",
    "whisper",
    "bart",
    "t5",
    "persimmon",
    "stablelm_epoch",
]
# Families with biases on query, key and value although attention_bias may be absent.
QKV_BIAS = {
    "qwen2",
    "qwen2_moe",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen",
    "chatglm",
    "gpt2",
    "opt",
    "phi",
    "gpt_bigcode",
}
TIED = {
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gemma3n",
    "gemma4",
    "gemma4_text",
    "gpt2",
    "cohere",
    "cohere2",
}


class Matrices(NamedTuple):
    """Elements of one kind of weight. `linear` ones follow the weight format, the others stay at 16 bits.

    `most_shards`: KV projections split into no more pieces than there are KV heads.
    """

    part: str
    elements: int
    linear: bool = True
    sharded: bool = True
    most_shards: int | None = None


# Kernels for MXFP4 pad experts to multiples of this; 6 to 9 % of the weights were measured for gpt-oss.
PADDED_TO = 256
WHOLE_TOWERS = ("kimi_vl", "kimi_k25")
MXFP4_PADDING = 1.072

Layer = tuple[Matrices, ...]


class WeightCount:
    """The matrices of one model per layer, counted once and sharded as asked."""

    def __init__(self, config: Config, shape: ModelShape) -> None:
        self.config = config
        self.shape = shape
        self.hidden = heads.hidden_size(config)
        self.ungated = config.family in UNGATED
        self._known: dict[object, Layer] = {}
        self.layers = [self._read(index, parts) for index, parts in enumerate(self._unshared())]
        self._stages: dict[tuple[int, bool], list[Counter[Matrices]]] = {}

    def parameters(self) -> int:
        """Parameters of the language model, without draft layers."""
        return sum(one.elements * count for stage in self._counted(1, False) for one, count in stage.items())

    @property
    def pads_experts(self) -> bool:
        """Whether MXFP4 kernels pad this model's experts: their width is no multiple of what kernels take."""
        return self.has_experts and bool(self.hidden % PADDED_TO)

    def bytes(self, form: Format, tp: int = 1, pp: int = 1, draft: bool = False) -> int:
        """Bytes on the GPU that holds most, `tp` GPUs in each of `pp` stages."""
        counted = self._counted(pp, draft)
        padding = MXFP4_PADDING if form.name == "mxfp4" and self.pads_experts else 1.0
        return round(
            max(sum(_bytes(one, form, tp, padding) * n for one, n in stage.items()) for stage in counted)
        )

    def _counted(self, pp: int, draft: bool) -> list[Counter[Matrices]]:
        """Equal matrices counted per pipeline stage; embedding on the first, head on the last."""
        known = self._stages.get((pp, draft))
        if known is not None:
            return known
        found, first = [], 0
        for number, size in enumerate(partition(len(self.layers), pp)):
            stage: Counter[Matrices] = Counter()
            for layer, times in Counter(self.layers[first : first + size]).items():
                for one in layer:
                    stage[one] += times
            stage.update(self._first() if number == 0 else ())
            if number == pp - 1:
                stage.update(self._last())
                stage.update(self.layers[-1] if draft else ())
            found.append(stage)
            first += size
        self._stages[pp, draft] = found
        return found

    def _read(self, index: int, parts: tuple[Part, ...]) -> Layer:
        """A layer's matrices; layers alike in what decides them are read once."""
        feed = self._feed_kind(index, bool(parts))
        key = (parts, feed, self._dense_width(index) if feed == "dense" else 0)
        if key not in self._known:
            self._known[key] = tuple(self._layer(index, parts))
        return self._known[key]

    @property
    def has_experts(self) -> bool:
        return any(one.part == "experts" for layer in self.layers for one in layer)

    def _unshared(self) -> list[tuple[Part, ...]]:
        """Parts per layer; a layer that shares KV still has attention weights, like its neighbours."""
        found: list[tuple[Part, ...]] = []
        last: tuple[Part, ...] = ()
        keeps_nothing = self.config.has("num_kv_shared_layers") or self.config.has("cla_share_factor")
        for parts in self.shape.layers:
            last = parts or last
            found.append(last if keeps_nothing else parts)
        return found

    def _first(self) -> list[Matrices]:
        found = [Matrices("embedding", _padded(self.shape.vocabulary) * self.hidden, linear=False)]
        for name in ("vision_config", "audio_config"):
            found += _tower(self.config.root.get(name), self.hidden, self.config.root.get("model_type"))
        return found + self._encoder()

    def _encoder(self) -> list[Matrices]:
        """The other half of an encoder-decoder model, whose keys lie beside the decoder's."""
        if not any(isinstance(part, CrossAttention) for part in self.shape.parts()):
            return []
        text = self.config.text
        layers = text.get("encoder_layers") or (
            text.get("num_layers") if text.get("num_decoder_layers") else 0
        )
        inner = text.get("encoder_ffn_dim") or self._dense_width(0)
        return [Matrices("encoder", (layers or 0) * (4 * self.hidden**2 + 2 * self.hidden * inner))]

    def _last(self) -> list[Matrices]:
        """Final norm and output head; a tied head is the embedding, stored once."""
        found = [Matrices("norm", self.hidden, linear=False, sharded=False)]
        default = self.config.family in TIED
        if not self.config.get("tie_word_embeddings", default=default):
            found.append(Matrices("head", _padded(self.shape.vocabulary) * self.hidden, linear=False))
        return found

    def _layer(self, index: int, parts: tuple[Part, ...]) -> Iterator[Matrices]:
        for part in parts:
            yield from self._mixer(part)
        yield from self._feed_forward(index, bool(parts))
        yield Matrices("norm", 2 * self.hidden, linear=False, sharded=False)

    # Attention and its substitutes

    def _mixer(self, part: Part) -> Iterator[Matrices]:
        if isinstance(part, Attention):
            yield from self._attention(part)
        elif isinstance(part, Latent):
            yield from self._latent(part)
        elif isinstance(part, State):
            yield from self._state(part)
        elif isinstance(part, CrossAttention):
            width = heads.query_heads(self.config) * part.key_dim
            yield Matrices(
                "attention", 2 * self.hidden * width + 2 * self.hidden * part.kv_heads * part.key_dim
            )
        elif isinstance(part, CompressedLatent):
            yield from self._compressed(part)

    def _attention(self, part: Attention) -> Iterator[Matrices]:
        query = part.query_heads * part.key_dim
        gate = query if self.config.flag("attn_output_gate") else 0
        output = part.query_heads * part.value_dim
        yield Matrices("attention", self.hidden * (query + gate + output))
        width = part.kv_heads * (part.key_dim + part.value_dim)
        yield Matrices("kv", self.hidden * width, most_shards=part.kv_heads)
        if self.config.family in QKV_BIAS or self.config.flag("attention_bias", "qkv_bias"):
            biases = query + part.kv_heads * (part.key_dim + part.value_dim)
            yield Matrices("bias", biases, linear=False)

    def _latent(self, part: Latent) -> Iterator[Matrices]:
        query_rank = self.config.text.get("q_lora_rank")
        nope_rope = part.unabsorbed_dims - self._value_dim(part)
        per_head = part.query_heads * nope_rope
        if query_rank:
            yield Matrices("attention", self.hidden * query_rank, sharded=False)
            yield Matrices("attention", query_rank * per_head)
        else:
            yield Matrices("attention", self.hidden * per_head)
        yield Matrices("attention", self.hidden * (part.rank + part.rope_dim), sharded=False)
        expanded = part.unabsorbed_dims - part.rope_dim  # key without rope, and value
        yield Matrices("attention", part.query_heads * part.rank * expanded)
        yield Matrices("attention", part.query_heads * self._value_dim(part) * self.hidden)
        if part.index_dim:
            index = (
                int(self.config.text.get("index_n_heads") or 1) * part.index_dim * (query_rank or self.hidden)
            )
            yield Matrices("indexer", index + self.hidden * part.index_dim, sharded=False)

    def _value_dim(self, part: Latent) -> int:
        return int(self.config.text.get("v_head_dim") or self.config.text.get("qk_nope_head_dim") or 128)

    def _state(self, part: State) -> Iterator[Matrices]:
        if part.design == "gated delta":
            values = part.heads * int(self.config.text["linear_value_head_dim"])
            yield Matrices("linear attention", self.hidden * (part.conv_width + 2 * values + 2 * part.heads))
        elif part.design == "mamba2":
            inner = part.conv_width
            wide = 2 * inner + part.groups * part.group_width + part.heads
            yield Matrices("mamba", self.hidden * (wide + inner))
        elif part.design == "mamba":
            inner = part.conv_width
            rank = int(self.config.text.get("mamba_dt_rank") or 0) or self.hidden // 16
            small = inner * (rank + 3 * part.matrix // inner) + rank * inner
            yield Matrices("mamba", 3 * self.hidden * inner + small)
        elif part.design == "kda":
            inner = part.conv_width // 3
            yield Matrices("linear attention", 5 * self.hidden * inner + self.hidden * part.heads)
        elif part.design == "lightning":
            width = part.heads * heads.head_dim(self.config)
            yield Matrices("linear attention", 5 * self.hidden * width)
        else:
            yield Matrices("linear attention", 4 * self.hidden * part.conv_width)

    def _compressed(self, part: CompressedLatent) -> Iterator[Matrices]:
        query_rank = int(self.config.text.get("q_lora_rank") or self.hidden)
        groups = int(self.config.text.get("o_groups") or 1)
        output_rank = int(self.config.text.get("o_lora_rank") or self.hidden)
        wide = part.query_heads * part.width
        yield Matrices(
            "attention", query_rank * wide + wide * output_rank + groups * output_rank * self.hidden
        )
        yield Matrices("attention", self.hidden * (query_rank + 3 * part.width), sharded=False)

    # MLP and experts

    def _feed_forward(self, index: int, mixes: bool) -> Iterator[Matrices]:
        kind = self._feed_kind(index, mixes)
        if kind == "experts":
            yield from self._experts()
        elif kind == "dense":
            yield Matrices("mlp", self._gated(self._dense_width(index), self.hidden))
        if kind == "dense" and self._dense_and_experts():
            yield from self._experts()

    def _feed_kind(self, index: int, mixes: bool) -> str | None:
        """dense, experts, or None for a layer without a feed-forward part."""
        text = self.config.text
        pattern = text.get("hybrid_override_pattern")
        names = text.get("layers_block_type")
        if isinstance(pattern, str):
            return {"-": "dense", "E": "experts"}.get(pattern[index])
        if isinstance(names, list) and "moe" in names:
            return {"mlp": "dense", "moe": "experts"}.get(names[index])
        blocks = text.get("block_configs")
        if isinstance(blocks, list) and (blocks[index].get("ffn") or {}).get("no_op"):
            return None
        if self.config.family in ("mamba", "mamba2", "falcon_mamba"):
            return None
        return "experts" if self._expert_count() and not self._stays_dense(index) else "dense"

    def _stays_dense(self, index: int) -> bool:
        text = self.config.text
        marks = text.get("moe_layer_freq")
        if isinstance(marks, list):
            return index < len(marks) and not marks[index]
        types = text.get("mlp_layer_types")
        if isinstance(types, list) and index < len(types):
            return types[index] == "dense"
        if index < int(text.get("first_k_dense_replace") or 0) or index in (
            text.get("mlp_only_layers") or ()
        ):
            return True
        step = text.get("decoder_sparse_step") or text.get("interleave_moe_layer_step") or 1
        if self.config.has("expert_layer_period"):
            return index % text["expert_layer_period"] != (text.get("expert_layer_offset") or 0)
        return (index + 1) % step != 0 or self._dense_and_experts()

    def _dense_and_experts(self) -> bool:
        return self.config.flag("enable_moe_block")  # Gemma 4 runs both in each layer

    def _dense_width(self, index: int) -> int:
        text = self.config.text
        blocks = text.get("block_configs")
        if isinstance(blocks, list):
            multiplier = (blocks[index].get("ffn") or {}).get("ffn_mult") or 0
            return -(-int(2 * multiplier * self.hidden / 3) // 256) * 256
        named = text.get("dense_intermediate_size") or text.get("intermediate_size_mlp")
        named = named or text.get("intermediate_size") or text.get("ffn_hidden_size") or text.get("n_inner")
        named = named or text.get("decoder_ffn_dim") or text.get("ffn_dim") or text.get("d_ff")
        inner = (text.get("ffn_config") or {}).get("ffn_hidden_size")
        return int(_one(named, index) or inner or 4 * self.hidden)

    def _expert_count(self) -> int:
        text = self.config.text
        inner = text.get("ffn_config") or {}
        named = text.get("n_routed_experts") or text.get("num_local_experts") or text.get("num_experts")
        named = named or text.get("moe_num_experts") or inner.get("moe_num_experts")
        return int(_one(named, 0) or 0)

    def _experts(self) -> Iterator[Matrices]:
        text = self.config.text
        count = self._expert_count()
        named = text.get("moe_intermediate_size") or text.get("expert_ffn_hidden_size")
        named = named or (text.get("ffn_config") or {}).get("ffn_hidden_size")
        width = int(_one(named, -1) or text.get("intermediate_size") or 4 * self.hidden)
        inside = int(text.get("moe_latent_size") or text.get("routed_expert_hidden_size") or self.hidden)
        yield Matrices("experts", count * self._gated(width, inside))
        if inside != self.hidden:
            yield Matrices("shared expert", 2 * self.hidden * inside, sharded=False)
        yield Matrices("router", count * self.hidden, linear=False, sharded=False)
        shared = self._shared_width(width)
        if shared:
            yield Matrices("shared expert", self._gated(shared, self.hidden))
        if self.config.family == "gpt_oss":
            yield Matrices("bias", count * (2 * width + self.hidden), linear=False)

    def _shared_width(self, width: int) -> int:
        text = self.config.text
        named = text.get("shared_expert_intermediate_size") or text.get("moe_shared_expert_intermediate_size")
        named = named or text.get("share_expert_dim")
        if named:
            return int(named)
        if self.config.family.startswith("llama4"):
            return width
        return int(text.get("n_shared_experts") or text.get("num_shared_experts") or 0) * width

    def _gated(self, width: int, inside: int) -> int:
        return (2 if self.ungated else 3) * inside * width


def _tower(tower: Any, hidden: int, family: Any) -> list[Matrices]:
    """A vision or audio encoder, at 16 bits. Empty when the config does not describe it.

    Start logs show it divided by tp (Llama 4, Mistral Small 3.1) or whole on every GPU (Kimi-VL).
    """
    if not isinstance(tower, dict):
        return []
    width = tower.get("hidden_size") or tower.get("d_model")
    layers = tower.get("num_hidden_layers") or tower.get("depth") or tower.get("encoder_layers")
    inner = tower.get("intermediate_size") or tower.get("encoder_ffn_dim")
    if not (isinstance(width, int) and isinstance(layers, int) and isinstance(inner, int)):
        return []
    matrices = 3 if tower.get("model_type") in ("pixtral", "qwen2_5_vl") else 2
    elements = layers * (4 * width * width + matrices * width * inner) + width * hidden
    return [Matrices("tower", elements, linear=False, sharded=family not in WHOLE_TOWERS)]


@lru_cache(maxsize=256)
def _padded(vocabulary: int) -> int:
    return -(-vocabulary // 64) * 64


def _bytes(one: Matrices, form: Format, tp: int, padding: float) -> float:
    shards = min(tp, one.most_shards or tp) if one.sharded else 1
    elements = one.elements / shards
    bits = form.bits if one.linear and one.part not in form.spared else form.plain_bits
    return elements * bits / 8 * (padding if one.part == "experts" else 1.0)


def _one(value: Any, index: int) -> Any:
    """One layer's entry when a config gives a list, or the value itself."""
    if isinstance(value, list):
        return value[min(index, len(value) - 1)] if value else None
    return value
