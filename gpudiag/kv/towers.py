"""Encoders of pictures and sound beside the language model, at 16 bits, as far as a config sizes them.

Start logs show them divided by tp (Llama 4, Mistral Small 3.1) or whole on every GPU (Kimi-VL).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudiag.kv.config import Config
from gpudiag.kv.matrices import Matrices
from gpudiag.kv.traits.heads import hidden_size

MOST_RATIO = 1000  # of an MLP to its layer; more is a broken file
WHOLE = ("kimi_vl", "kimi_k25")
PARTS = ("vision_config", "audio_config")
# Towers whose MLP has a gate; those of GLM-4V are as wide inside as what they hand over.
GATED = (
    "pixtral",
    "qwen2_5_vl",
    "qwen2_5_omni_vision",
    "exaone4_5",
    "gemma4",
    "glm4v",
    "glm_ocr",
    "glm5_next",
)
WIDE_AS_OUTPUT = ("glm4v",)
WIDTH = ("embed_dim", "hidden_size", "d_model", "vt_hidden_size")  # Qwen 2's hidden_size is the model's


def tower_matrices(config: Config) -> Iterator[Matrices]:
    """The towers of the root, and those that Qwen's Omni models keep in their thinker."""
    sharded = config.root.get("model_type") not in WHOLE
    for place in (config.root, config.root.get("thinker_config") or {}):
        for name in PARTS:
            tower = place.get(name)
            elements = _elements(tower, hidden_size(config)) if isinstance(tower, Mapping) else 0
            if elements:
                yield Matrices("tower", elements, linear=False, sharded=sharded)


def _elements(tower: Mapping[str, Any], hidden: int) -> int:
    """Attention, MLP and what joins the tower to the model; 0 where the config does not size them."""
    width = _whole(tower, *WIDTH)
    layers = _whole(tower, "num_hidden_layers", "depth", "encoder_layers", "vt_num_hidden_layers")
    inner = _whole(tower, "intermediate_size", "encoder_ffn_dim", "mlp_dim", "vt_intermediate_size")
    ratio = tower.get("mlp_ratio")
    if not inner and isinstance(ratio, (int, float)) and 0 < ratio <= MOST_RATIO:
        inner = int(width * ratio)
    if not (width and layers and inner):
        return 0
    kind = str(tower.get("model_type"))
    output = _whole(tower, "out_hidden_size") or hidden
    if kind.startswith(WIDE_AS_OUTPUT):
        inner, joint = output, _glm_joint(inner, output)
    else:
        joint = _merger(tower, width, output) or width * hidden
    matrices = 3 if kind.startswith(GATED) else 2
    return layers * (_attention(tower, width) + matrices * width * inner) + joint


def _attention(tower: Mapping[str, Any], width: int) -> int:
    inside = _whole(tower, "qkv_hidden_size")
    if inside:
        return 4 * width * inside
    heads = _whole(tower, "num_attention_heads", "num_heads")
    shared = _whole(tower, "num_key_value_heads") or heads
    keys = width * shared // heads if heads else width
    return 2 * width * (width + keys)


def _merger(tower: Mapping[str, Any], width: int, output: int) -> int:
    """Qwen and Kimi join a square of patches to one token, Qwen also from some layers within (deepstack)."""
    square = (_whole(tower, "spatial_merge_size") ** 2 if _whole(tower, "depth") else _merged(tower)) * width
    within = tower.get("deepstack_visual_indexes")
    times = 1 + (len(within) if isinstance(within, list) else 0)
    return times * square * (square + output)


def _merged(tower: Mapping[str, Any]) -> int:
    """Patches that Kimi joins to one token: height × width of its kernel."""
    kernel = tower.get("merge_kernel_size")
    if not isinstance(kernel, list) or len(kernel) != 2:
        return 0
    sides = [side for side in kernel if isinstance(side, int) and 0 < side <= MOST_RATIO]
    return sides[0] * sides[1] if len(sides) == 2 else 0


def _glm_joint(inner: int, output: int) -> int:
    return output * output + 3 * output * inner


def _whole(tower: Mapping[str, Any], *names: str) -> int:
    """The first of `names` that holds a positive whole number, else 0."""
    for name in names:
        value = tower.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0
