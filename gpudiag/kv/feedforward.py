"""The feed-forward part of each layer: a dense MLP, experts, both, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudiag.kv.config import Config, inside
from gpudiag.kv.matrices import Matrices
from gpudiag.kv.traits import heads, latent
from gpudiag.kv.traits.patterns import count

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
    "apertus",
    "apertus1p5_text",
    "arcee",
    "biogpt",
    "gpt_neox_japanese",
    "jais2",
    "moshi",
    "nanochat",
    "xglm",
]
# Of BART and its kin, all of which have two matrices.
ENCODER_DECODER = "decoder_ffn_dim"


# Families whose layers have none of their own; those of Zamba lie in the blocks that its layers share.
WITHOUT = ("mamba", "mamba2", "falcon_mamba", "zamba", "zamba2")


class FeedForward:
    """What a config says of the feed-forward parts of its layers."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.hidden = heads.hidden_size(config)
        named = config.has("inner_hidden_size") or config.has(ENCODER_DECODER)
        self._ungated = config.family in UNGATED or named
        if str(config.text.get("feed_forward_proj")).startswith("gated"):  # T5 1.1 and Flan
            self._ungated = False

    def matrices(self, index: int, mixes: bool) -> Iterator[Matrices]:
        kind = self.kind(index, mixes)
        if kind == "experts":
            yield from self._experts()
        elif kind == "dense":
            yield Matrices("mlp", self.elements(self.dense_width(index), self.hidden))
        if kind == "dense" and self._dense_and_experts():
            yield from self._experts()
        if kind == "experts" and latent.is_double(self.config):  # beside an MLP for each attention block
            yield Matrices("mlp", 2 * self.elements(self.dense_width(index), self.hidden))

    def kind(self, index: int, mixes: bool) -> str | None:
        """dense, experts, or None for a layer without a feed-forward part."""
        text = self.config.text
        pattern = text.get("hybrid_override_pattern")
        names = text.get("layers_block_type")
        if isinstance(pattern, str):
            return {"-": "dense", "E": "experts"}.get(pattern[index])
        if isinstance(names, list) and "moe" in names:
            return {"mlp": "dense", "moe": "experts"}.get(names[index])
        blocks = text.get("block_configs")
        if isinstance(blocks, list) and self._block(index).get("no_op"):
            return None
        if self.config.family in WITHOUT:
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
        first = text.get("first_k_dense_replace") or text.get("num_dense_layers")
        first = first or text.get("moe_layer_start_index") or 0
        if index < int(_one(first, 0)) or index in (text.get("mlp_only_layers") or ()):
            return True
        step = text.get("decoder_sparse_step") or text.get("interleave_moe_layer_step") or 1
        if self.config.has("expert_layer_period"):
            return index % text["expert_layer_period"] != (text.get("expert_layer_offset") or 0)
        return (index + 1) % step != 0 or self._dense_and_experts()

    def _dense_and_experts(self) -> bool:
        return self.config.flag("enable_moe_block")  # Gemma 4 runs both in each layer

    def dense_width(self, index: int) -> int:
        text = self.config.text
        blocks = text.get("block_configs")
        if isinstance(blocks, list):
            multiplier = self._block(index).get("ffn_mult") or 0
            return -(-int(2 * multiplier * self.hidden / 3) // 256) * 256
        named = text.get("dense_intermediate_size") or text.get("intermediate_size_mlp")
        named = named or text.get("intermediate_size") or text.get("ffn_hidden_size") or text.get("n_inner")
        named = named or text.get("decoder_ffn_dim") or text.get("ffn_dim") or text.get("d_ff")
        named = named or text.get("inner_hidden_size") or text.get("ff_intermediate_size")
        if self.config.family == "qwen":  # the first Qwen counts both halves of its gate
            return int(named or 8 * self.hidden) // 2
        if self.config.family == "granitemoehybrid":
            named = text.get("shared_intermediate_size") or named
        inner = (text.get("ffn_config") or {}).get("ffn_hidden_size")
        width = self._adjusted(int(_one(named, index) or inner or 4 * self.hidden))
        return 2 * width if self._double_wide(index) else width

    def _double_wide(self, index: int) -> bool:
        """Gemma 4 E2B widens the MLP of the layers that reuse the keys and values of earlier ones."""
        if not self.config.flag("use_double_wide_mlp"):
            return False
        shared = int(self.config.text.get("num_kv_shared_layers") or 0)
        return index >= count(self.config) - shared

    def _adjusted(self, width: int) -> int:
        """LFM2 narrows the width that its config names to two thirds, in steps."""
        if not self.config.flag("block_auto_adjust_ff_dim"):
            return width
        step = int(self.config.text.get("block_multiple_of") or 256)
        narrowed = int((self.config.text.get("block_ffn_dim_multiplier") or 1.0) * int(2 * width / 3))
        return -(-narrowed // step) * step

    def _block(self, index: int) -> Mapping[str, Any]:
        return inside(self.config.text["block_configs"][index].get("ffn"), f"block_configs[{index}].ffn")

    def _expert_count(self) -> int:
        text = self.config.text
        if text.get("is_moe") is False:  # Doge counts experts that its dense models do not have
            return 0
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
        if self._sees_apart() and isinstance(named, list):
            width = int(_one(named, 0))
            seeing = [int(one) for one in named[1:]]
            yield Matrices("experts", count * sum(self.elements(one, self.hidden) for one in seeing))
            yield Matrices("router", len(seeing) * count * self.hidden, linear=False, sharded=False)
        named = text.get("moe_latent_size") or text.get("routed_expert_hidden_size")
        inside = int(named or text.get("moe_hidden_size") or self.hidden)
        yield Matrices("experts", count * self.elements(width, inside))
        if inside != self.hidden:
            yield Matrices("shared expert", 2 * self.hidden * inside, sharded=False)
        routed = count + int(text.get("zero_expert_num") or 0)  # to those, a token goes as it is
        yield Matrices("router", routed * self.hidden, linear=False, sharded=False)
        shared = self._shared_width(width)
        if shared:
            yield Matrices("shared expert", self.elements(shared, self.hidden))
        if self.config.family == "gpt_oss":
            yield Matrices("bias", count * (2 * width + self.hidden), linear=False)

    def _sees_apart(self) -> bool:
        """Whether pictures go to experts of their own, narrower than those of text (ERNIE 4.5 VL)."""
        return self.config.family.startswith("ernie4_5") and "vl" in self.config.family

    def _shared_width(self, width: int) -> int:
        text = self.config.text
        named = text.get("shared_expert_intermediate_size") or text.get("moe_shared_expert_intermediate_size")
        named = named or text.get("share_expert_dim") or text.get("shared_intermediate_size")
        if named:
            return int(named)
        if self.config.family.startswith("llama4"):
            return width
        count = text.get("n_shared_experts") or text.get("num_shared_experts")
        count = count or text.get("moe_num_shared_experts") or text.get("num_shared_expert")
        return int(_one(count, 0) or 0) * width

    def elements(self, width: int, inside: int) -> int:
        """Elements of one MLP: up, down and, in most families, a gate."""
        return (2 if self._ungated else 3) * inside * width


def _one(value: Any, index: int) -> Any:
    """One layer's entry when a config gives a list, or the value itself."""
    if isinstance(value, list):
        return value[min(index, len(value) - 1)] if value else None
    return value
