"""How a checkpoint's weights are stored: asked for, or told by its config's `quantization_config`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpudiag.kv.config import Config
from gpudiag.kv.dtypes import GGUF_RECIPES, WEIGHT_ALIASES, WEIGHT_BITS

LEAST, MOST = 0.1, 1e6  # of bits, groups and code books
# Methods that keep a scale (16 bits) and a zero point (as wide as a weight) per group.
GROUPED = ("gptq", "awq", "auto-round", "auto_round")
# ModelOpt's names of algorithms by what is in them: W4A8_AWQ, FP8_PB_WO, W8A8_SQ_PER_CHANNEL.
ALGORITHMS = {"mxfp4": "mxfp4", "w4a": "int4", "int4": "int4", "w8a8": "int8", "int8": "int8", "fp8": "fp8"}
LISTED_BITS = {
    "nvfp4": 4.5,
    "mxfp4": 4.25,
    "mxfp8": 8.25,
    "fp8": 8.0,
    "int8": 8.0,
    "w4a16": 4.125,
    "int4": 4.125,
}
# Words in the names of modules, the first that fits, and the parts that they are.
MODULES = {
    "linear_attn": ("linear attention",),
    "index": ("indexer",),
    "attn": ("attention", "kv"),
    "shared_expert": ("shared expert",),
    "experts": ("experts",),
    "mixer": ("mamba",),
    "mlp": ("mlp",),
    "ffn": ("mlp",),
    "head": ("head",),
}
METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "compressed-tensors": "fp8", "eetq": "int8"}


class Format(NamedTuple):
    """Bits per linear element, and which parts a checkpoint leaves unquantised.

    `unread`: a method nobody here can size; its weights are counted at 16 bits.
    `mixed`: the checkpoint stores some linear weights wider than `bits`, and its config does not say which.
    `own`: bits of each part, where the config lists its modules one by one; the others have `plain_bits`.
    `plain_draft`: draft layers are not converted.
    `experts`: bits of routed experts that are stored narrower than the rest; 0 where they are like the rest.
    """

    name: str
    bits: float
    plain_bits: float = 16.0
    spared: frozenset[str] = frozenset()
    unread: str = ""
    mixed: bool = False
    own: tuple[tuple[str, float], ...] = ()
    plain_draft: bool = False
    experts: float = 0.0

    def bits_of(self, part: str, linear: bool) -> float:
        if self.own:
            return dict(self.own).get(part, self.plain_bits)
        if self.experts and part == "experts":
            return self.experts
        return self.bits if linear and part not in self.spared else self.plain_bits


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
    own = OWN_WAYS.get(str(quantization.get("quant_method")).lower())
    found = own(quantization) if own else None
    if found is not None:
        rest = found[1] if own is _mlx else 16.0  # which converts the embedding and the head, too
        return Format(found[0], found[1], rest, spared=_spared(config))
    name = _quantized_name(quantization)
    if name in WEIGHT_BITS:
        bits = _grouped_bits(quantization) or WEIGHT_BITS[name]
        mixed = "mixed" in str(quantization.get("quant_algo")).lower() or _groups_differ(quantization)
        listed, draft = _listed(quantization), _spares_draft(quantization)
        if listed:
            return Format(name, bits, own=listed, plain_draft=draft)
        narrow = _expert_bits(config, bits)
        return Format(name, bits, spared=_spared(config), mixed=mixed, plain_draft=draft, experts=narrow)
    average = _number(quantization, "bits", "nbits", "w_bit")
    if average is not None:
        bits = _grouped_bits(quantization) or average
        return Format(f"{average:g}-bit", bits, spared=_spared(config))
    return Format("bf16", 16.0, unread=name)


def _expert_bits(config: Config, bits: float) -> float:
    """DeepSeek V4 says beside its fp8 that its experts are fp4, which is MXFP4; 0: they are like the rest."""
    said = config.get("expert_dtype") or config.quantization.get("expert_dtype")
    return WEIGHT_BITS["mxfp4"] if said == "fp4" and bits == WEIGHT_BITS["fp8"] else 0.0


def _grouped_bits(quantization: Mapping[str, Any]) -> float | None:
    """Bits per weight with scales, and zero points where they are kept; None where no groups are told of."""
    method, bits = str(quantization.get("quant_method")).lower(), _number(quantization, "bits", "w_bit")
    group = _number(quantization, "group_size", "q_group_size")
    if bits is not None and group is not None and method.startswith(GROUPED):
        return bits + (16 + bits) / group
    weights = _group_weights(quantization)
    bits, group = _number(weights, "num_bits"), _number(weights, "group_size")
    if bits is None or group is None or weights.get("type") == "float":
        return None
    return bits + (16 if weights.get("symmetric", True) else 16 + bits) / group


def _number(quantization: Mapping[str, Any], *names: str) -> float | None:
    """The first of `names` that holds a number which a method can mean; 1e-300 weights are no group."""
    for name in names:
        value = quantization.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and LEAST <= value <= MOST:
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
    """How compressed-tensors describes the weights of its groups: the narrowest of them."""
    return min(_all_groups(quantization), key=lambda weights: _number(weights, "num_bits") or 16, default={})


def _groups_differ(quantization: Mapping[str, Any]) -> bool:
    return len({_number(weights, "num_bits") for weights in _all_groups(quantization)}) > 1


def _all_groups(quantization: Mapping[str, Any]) -> list[dict[str, Any]]:
    groups = quantization.get("config_groups")
    named = (
        [group.get("weights") for group in groups.values() if isinstance(group, dict)]
        if isinstance(groups, dict)
        else []
    )
    return [weights for weights in named if isinstance(weights, dict)]


def _hqq(quantization: Mapping[str, Any]) -> tuple[str, float] | None:
    """Half-Quadratic Quantization keeps a scale and a zero point, 16 bits each, per group."""
    weights = _inner(_inner(quantization, "quant_config"), "weight_quant_params") or quantization
    bits, group = _number(weights, "nbits", "weight_bits"), _number(weights, "group_size")
    return None if bits is None else (f"{bits:g}-bit", bits + (32 / group if group else 0))


def _torchao(quantization: Mapping[str, Any]) -> tuple[str, float] | None:
    """The width stands in the scheme's name: `int4_weight_only`, `Int8DynamicActivationInt4WeightConfig`."""
    kind, settings = quantization.get("quant_type"), _inner(quantization, "quant_type_kwargs")
    if isinstance(kind, dict):
        inner = _inner(kind, "default") or kind
        kind, settings = inner.get("_type"), _inner(inner, "_data")
    found = re.search(r"(int|float)(\d+)_?weight", str(kind), re.IGNORECASE)
    if found is None or int(found[2]) not in (4, 8):
        return None
    if found[2] == "8":
        return ("fp8" if found[1].lower() == "float" else "int8"), 8.0
    return "int4", 4 + 32 / (_number(settings, "group_size") or 128)


def _quark(quantization: Mapping[str, Any]) -> tuple[str, float] | None:
    """AMD's Quark names the dtype of the weights; those of 4 bits have a scale per group."""
    weights = _inner(quantization, "global_quant_config").get("weight")
    first = weights[0] if isinstance(weights, list) and weights else weights
    described = first if isinstance(first, dict) else {}
    dtype, group = str(described.get("dtype")).lower(), _number(described, "group_size")
    if dtype.startswith("fp4"):
        return "mxfp4", 4 + 8 / (group or 32)
    if dtype in ("int4", "uint4"):
        return "int4", 4 + (16 / group if group else 0)
    return next(((name, 8.0) for name in ("fp8", "int8") if dtype.startswith(name)), None)


def _aqlm(quantization: Mapping[str, Any]) -> tuple[str, float] | None:
    """Additive quantization: codes of `nbits_per_codebook` for each block of weights."""
    books, bits = (_number(quantization, name) for name in ("num_codebooks", "nbits_per_codebook"))
    inside, across = _number(quantization, "in_group_size"), _number(quantization, "out_group_size") or 1
    if not (books and bits and inside):
        return None
    average = books * bits / (inside * across)
    return f"{average:g}-bit", average


def _mlx(quantization: Mapping[str, Any]) -> tuple[str, float] | None:
    """MLX names no method; a scale and an offset, 16 bits each, per group."""
    bits, group = _number(quantization, "bits"), _number(quantization, "group_size")
    return None if bits is None or group is None else (f"{bits:g}-bit", bits + 32 / group)


def _inner(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = mapping.get(name)
    return value if isinstance(value, dict) else {}


# Methods whose configs have keys of their own: (name of the format, bits), or None where it is not told.
OWN_WAYS: dict[str, Callable[[Mapping[str, Any]], tuple[str, float] | None]] = {
    "hqq": _hqq,
    "torchao": _torchao,
    "quark": _quark,
    "aqlm": _aqlm,
    "none": _mlx,
}


def _listed(quantization: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Bits per part where ModelOpt lists each module with its algorithm; the mean where they differ."""
    found: dict[str, list[float]] = {}
    for module, how in _inner(quantization, "quantized_layers").items():
        name = str(how.get("quant_algo") if isinstance(how, dict) else how).lower()
        bits = next((bits for algorithm, bits in LISTED_BITS.items() if algorithm in name), None)
        if bits is None:
            return ()
        for part in _parts_of(str(module)):
            found.setdefault(part, []).append(bits)
    return tuple((part, sum(bits) / len(bits)) for part, bits in found.items())


def _parts_of(module: str) -> tuple[str, ...]:
    """What the name of a module calls one of our kinds of matrices."""
    return next((parts for word, parts in MODULES.items() if word in module), ())


def _spares_draft(quantization: Mapping[str, Any]) -> bool:
    names = quantization.get("ignore") or quantization.get("modules_to_not_convert")
    return isinstance(names, list) and any(str(name).startswith(("mtp", "model.mtp")) for name in names)


def _spared(config: Config) -> frozenset[str]:
    """Parts that the checkpoint lists as not converted, told from the names of its modules."""
    quantization = config.quantization
    named = (
        quantization.get(name) for name in ("ignore", "modules_to_not_convert", "exclude", "skip_modules")
    )
    names = next((one for one in named if one), ())
    text = " ".join(str(name) for name in names) if isinstance(names, (list, tuple)) else ""
    found = set()
    if ("self_attn" in text and ".self_attn.kv_a_layernorm" not in text) or "*.attn" in text:
        found |= {"attention", "kv", "indexer"}
        if config.family.startswith("kimi"):  # its KDA goes by that name, too
            found.add("linear attention")
    if "linear_attn" in text:
        found.add("linear attention")
    if "shared_expert" in text:
        found.add("shared expert")
    if "mlp.(gate" in text or "mlp\\.(gate" in text or ".mlp*" in text:
        found.add("mlp")
    return frozenset(found)
