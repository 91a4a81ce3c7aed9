"""Kinds of weight matrices, and those of attention and its substitutes in one layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudiag.kv.config import Config
from gpudiag.kv.layers import Attention, CompressedLatent, CrossAttention, Latent, Part, State
from gpudiag.kv.traits import heads, latent

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

# Families whose attention ends in a gate as wide as its queries. Those of Qwen can be told to leave it out.
OUTPUT_GATE = (
    "afmoe",
    "muse_spark_text",
    "qwen3_next",
    "qwen3_5_text",
    "qwen3_5_moe_text",
    "qwen4_exp_text",
)


class Matrices(NamedTuple):
    """Elements of one kind of weight. `linear` ones follow the weight format, the others stay at 16 bits.

    `most_shards`: KV projections split into no more pieces than there are KV heads.
    """

    part: str
    elements: int
    linear: bool = True
    sharded: bool = True
    most_shards: int | None = None


class Mixer:
    """The matrices of a layer's attention, state space or linear attention, as its config sizes them."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.hidden = heads.hidden_size(config)

    def matrices(self, part: Part) -> Iterator[Matrices]:
        if isinstance(part, Attention) and latent.is_latent(self.config):
            yield from self._latent(latent.absorbed(self.config))  # kept expanded, stored as a latent
        elif isinstance(part, Attention):
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
        gated = self.config.get("attn_output_gate", default=self.config.family in OUTPUT_GATE)
        gate = query if gated else 0
        output = part.query_heads * part.value_dim
        yield Matrices("attention", self.hidden * (query + gate + output))
        width = part.kv_heads * (part.key_dim + part.value_dim)
        yield Matrices("kv", self.hidden * width, most_shards=part.kv_heads)
        if part.index_pool > 1:
            index = (int(self.config.text.get("indexer_n_heads") or 1) + 1) * part.index_dim
            yield Matrices("indexer", self.hidden * index, sharded=False)
        if self.config.family in QKV_BIAS or self.config.flag("attention_bias", "qkv_bias"):
            biases = query + part.kv_heads * (part.key_dim + part.value_dim)
            yield Matrices("bias", biases, linear=False)

    def _latent(self, part: Latent) -> Iterator[Matrices]:
        query_rank = self.config.text.get("q_lora_rank")
        value = latent.value_dim(self.config)
        nope_rope = part.unabsorbed_dims - value
        per_head = part.query_heads * nope_rope
        if query_rank:
            yield Matrices("attention", self.hidden * query_rank, sharded=False)
            yield Matrices("attention", query_rank * per_head)
        else:
            yield Matrices("attention", self.hidden * per_head)
        yield Matrices("attention", self.hidden * (part.rank + part.rope_dim), sharded=False)
        expanded = part.unabsorbed_dims - part.rope_dim  # key without rope, and value
        yield Matrices("attention", part.query_heads * part.rank * expanded)
        yield Matrices("attention", part.query_heads * value * self.hidden)
        if part.index_dim:
            index = (
                int(self.config.text.get("index_n_heads") or 1) * part.index_dim * (query_rank or self.hidden)
            )
            yield Matrices("indexer", index + self.hidden * part.index_dim, sharded=False)

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
            named = self.config.text.get("mamba_dt_rank")
            rank = int(named) if named and named != "auto" else -(-self.hidden // 16)
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
        yield Matrices("attention", self.hidden * (query_rank + part.width), sharded=False)
        if part.ratio:
            yield Matrices("compressor", self._compressor(part, part.width), linear=False, sharded=False)
        if part.index_dim:
            heads = int(self.config.text.get("index_n_heads") or 1)
            own = self._compressor(part, part.index_dim) + self.hidden * heads
            yield Matrices("indexer", query_rank * heads * part.index_dim, sharded=False)
            yield Matrices("compressor", own, linear=False, sharded=False)

    def _compressor(self, part: CompressedLatent, width: int) -> int:
        """Keys and gates of the rows that are summed up; those of four tokens overlap, so there are two."""
        return 2 * (2 if part.ratio == 4 else 1) * self.hidden * width
