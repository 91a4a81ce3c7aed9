"""How a checkpoint's weights are stored: asked for, or told by its config's `quantization_config`."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpudiag.kv.config import Config
from gpudiag.kv.dtypes import GGUF_RECIPES, WEIGHT_ALIASES, WEIGHT_BITS


class Format(NamedTuple):
    """Bits per linear element, and which parts a checkpoint leaves unquantised."""

    name: str
    bits: float
    plain_bits: float = 16.0
    spared: frozenset[str] = frozenset()


def weight_format(config: Config, asked: str) -> Format:
    """The format of the weights: what was asked, else what the checkpoint's config says."""
    if asked != "auto":
        if asked in GGUF_RECIPES:
            return Format(asked, GGUF_RECIPES[asked], GGUF_RECIPES[asked])
        return Format(asked, WEIGHT_BITS[asked], 32.0 if asked == "f32" else 16.0)
    quantization = config.get("quantization_config", default={})
    if not isinstance(quantization, dict) or not quantization:
        plain = {"float32": "f32", "float16": "f16"}.get(config.dtype, "bf16")
        return Format(plain, WEIGHT_BITS[plain], WEIGHT_BITS[plain])
    name = _quantized_name(quantization)
    return Format(name, WEIGHT_BITS[name], spared=_spared(quantization))


def _quantized_name(quantization: dict[str, Any]) -> str:
    method = str(quantization.get("quant_method") or "").lower()
    algorithm = str(quantization.get("moe_quant_algo") or quantization.get("quant_algo") or "").lower()
    if "mxfp4" in method or "mxfp4" in str(quantization.get("format")):
        return "mxfp4"
    if "nvfp4" in algorithm or algorithm == "mixed_precision" or "nvfp4" in str(quantization.get("format")):
        return "nvfp4"
    if algorithm == "fp8":
        return "fp8"
    if method in ("bitsandbytes", "bnb"):
        return "nf4" if quantization.get("load_in_4bit") else "int8"
    group = _group_weights(quantization)
    bits = quantization.get("bits") or quantization.get("w_bit") or group.get("num_bits")
    if bits in (4, 8):
        whole = group.get("type") != "float"
        return {4: "int4" if whole else "nvfp4", 8: "int8" if whole else "fp8"}[bits]
    return WEIGHT_ALIASES.get(method, "fp8") if method in WEIGHT_ALIASES else "fp8"


def _group_weights(quantization: dict[str, Any]) -> dict[str, Any]:
    """How compressed-tensors describes the weights of its first group."""
    groups = quantization.get("config_groups")
    first: Any = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    return weights if isinstance(weights, dict) else {}


def _spared(quantization: dict[str, Any]) -> frozenset[str]:
    """Parts that the checkpoint lists as not converted, told from the names of its modules."""
    names = quantization.get("ignore") or quantization.get("modules_to_not_convert") or ()
    text = " ".join(str(name) for name in names) if isinstance(names, (list, tuple)) else ""
    found = set()
    if ("self_attn" in text and ".self_attn.kv_a_layernorm" not in text) or "*.attn" in text:
        found |= {"attention", "kv", "indexer"}
    if "linear_attn" in text:
        found.add("linear attention")
    if "shared_expert" in text:
        found.add("shared expert")
    if "mlp.(gate" in text or "mlp\\.(gate" in text or ".mlp*" in text:
        found.add("mlp")
    return frozenset(found)
