"""How a checkpoint's weights are stored: asked for, or told by its config's `quantization_config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpudiag.kv.config import Config
from gpudiag.kv.dtypes import GGUF_RECIPES, WEIGHT_ALIASES, WEIGHT_BITS

# Methods that keep a scale (16 bits) and a zero point (as wide as a weight) per group.
GROUPED = ("gptq", "awq", "auto-round", "auto_round")
# ModelOpt's names of algorithms by what is in them: W4A8_AWQ, FP8_PB_WO, W8A8_SQ_PER_CHANNEL.
ALGORITHMS = {"mxfp4": "mxfp4", "w4a": "int4", "int4": "int4", "w8a8": "int8", "int8": "int8", "fp8": "fp8"}
METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "compressed-tensors": "fp8", "eetq": "int8"}


class Format(NamedTuple):
    """Bits per linear element, and which parts a checkpoint leaves unquantised.

    `unread`: a method nobody here can size; its weights are counted at 16 bits.
    `mixed`: the checkpoint stores some linear weights wider than `bits`, and its config does not say which.
    """

    name: str
    bits: float
    plain_bits: float = 16.0
    spared: frozenset[str] = frozenset()
    unread: str = ""
    mixed: bool = False


def weight_format(config: Config, asked: str) -> Format:
    """The format of the weights: what was asked, else what the checkpoint's config says."""
    if asked != "auto":
        if asked in GGUF_RECIPES:
            return Format(asked, GGUF_RECIPES[asked], GGUF_RECIPES[asked])
        return Format(asked, WEIGHT_BITS[asked], 32.0 if asked == "f32" else 16.0)
    quantization = config.quantization
    if not quantization:
        plain = {"float32": "f32", "float16": "f16"}.get(config.dtype, "bf16")
        return Format(plain, WEIGHT_BITS[plain], WEIGHT_BITS[plain])
    name = _quantized_name(quantization)
    if name in WEIGHT_BITS:
        bits = _grouped_bits(quantization) or WEIGHT_BITS[name]
        mixed = "mixed" in str(quantization.get("quant_algo")).lower()
        return Format(name, bits, spared=_spared(quantization), mixed=mixed)
    average = _number(quantization, "bits", "nbits", "w_bit")
    if average is not None:
        bits = _grouped_bits(quantization) or average
        return Format(f"{average:g}-bit", bits, spared=_spared(quantization))
    return Format("bf16", 16.0, unread=name)


def _grouped_bits(quantization: Mapping[str, Any]) -> float | None:
    """Bits per weight of GPTQ and AWQ with their scales and zero points; None for other methods."""
    method, bits = str(quantization.get("quant_method")).lower(), _number(quantization, "bits", "w_bit")
    group = _number(quantization, "group_size", "q_group_size")
    if bits is None or group is None or not method.startswith(GROUPED):
        return None
    return bits + (16 + bits) / group


def _number(quantization: Mapping[str, Any], *names: str) -> float | None:
    """The first of `names` that holds a positive number."""
    for name in names:
        value = quantization.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return float(value)
    return None


def _quantized_name(quantization: Mapping[str, Any]) -> str:
    """One of WEIGHT_BITS, or the method's own name where its width has to be read or is not known."""
    method = str(quantization.get("quant_method") or "").lower()
    algorithm = str(quantization.get("moe_quant_algo") or quantization.get("quant_algo") or "").lower()
    if "mxfp4" in method or "mxfp4" in str(quantization.get("format")):
        return "mxfp4"
    if "nvfp4" in algorithm or algorithm == "mixed_precision" or "nvfp4" in str(quantization.get("format")):
        return "nvfp4"
    if algorithm:
        return next((form for name, form in ALGORITHMS.items() if name in algorithm), f"{method} {algorithm}")
    if method in ("bitsandbytes", "bnb"):
        return "nf4" if quantization.get("load_in_4bit") else "int8"
    group = _group_weights(quantization)
    bits = _number(quantization, "bits", "w_bit") or group.get("num_bits")
    if bits in (4, 8):
        whole = group.get("type") != "float"
        return {4: "int4" if whole else "nvfp4", 8: "int8" if whole else "fp8"}[int(bits)]
    if bits is not None:
        return method
    floats = "float" in str(quantization.get("format"))
    if method == "modelopt" or (method == "compressed-tensors" and not floats):
        return method  # its algorithm or its groups say the width, and there are none
    return METHODS.get(method) or WEIGHT_ALIASES.get(method) or method or "?"


def _group_weights(quantization: Mapping[str, Any]) -> dict[str, Any]:
    """How compressed-tensors describes the weights of its first group."""
    groups = quantization.get("config_groups")
    first: Any = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    return weights if isinstance(weights, dict) else {}


def _spared(quantization: Mapping[str, Any]) -> frozenset[str]:
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
