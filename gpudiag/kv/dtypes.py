"""Number formats of the KV cache and of weights, and every spelling that engines accept for them.

Sources: vLLM 0.33 cache dtypes, SGLang 0.5 flags, llama.cpp `--cache-type-k` with the block sizes of
gguf 0.19 `constants.py`, LMDeploy `quant_policy`.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudiag.kv.errors import KvError


class Format(NamedTuple):
    """Bytes of one key or value vector: `elements` × numerator / denominator + `per_vector`."""

    name: str
    numerator: int
    denominator: int = 1
    per_vector: int = 0

    def bytes_of(self, dim: int, vectors: int = 1) -> int:
        """`vectors` vectors of `dim` elements, stored one after another, rounded up to a byte."""
        elements = dim * vectors
        return -(-elements * self.numerator // self.denominator) + vectors * self.per_vector


CACHE_FORMATS = {
    "bf16": Format("bf16", 2),
    "f16": Format("f16", 2),
    "f32": Format("f32", 4),
    "fp8": Format("fp8", 1),
    "int8": Format("int8", 1),
    "int4": Format("int4", 1, 2, 4),  # an f32 scale, or scale and zero in f16, per vector
    "nvfp4": Format("nvfp4", 9, 16),
    "q8_0": Format("q8_0", 34, 32),
    "q5_1": Format("q5_1", 24, 32),
    "q5_0": Format("q5_0", 22, 32),
    "q4_1": Format("q4_1", 20, 32),
    "q4_0": Format("q4_0", 18, 32),
    "iq4_nl": Format("iq4_nl", 18, 32),
    "int8_per_token_head": Format("int8_per_token_head", 1, 1, 4),
    "fp8_per_token_head": Format("fp8_per_token_head", 1, 1, 4),
    "fp8_ds_mla": Format("fp8_ds_mla", 1),
    "nvfp4_ds_mla": Format("nvfp4_ds_mla", 9, 16),
}

# Block formats of llama.cpp, which no other engine stores a cache in.
LLAMA_CACHES = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")

CACHE_ALIASES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "fp16": "f16",
    "half": "f16",
    "float32": "f32",
    "fp32": "f32",
    "float": "f32",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_inc": "fp8",
    "float8_e4m3fn": "fp8",
    "fp8_e4m3fn": "fp8",
    "f8": "fp8",
    "i8": "int8",
    "i4": "int4",
    "int4_per_token_head": "int4",
    "fp4": "nvfp4",
    "fp4_e2m1": "nvfp4",
    "quant_policy_8": "int8_per_token_head",
    "quant_policy_4": "int4",
}

# What people may write, in the order the message lists it.
CACHE_CHOICES = [
    "auto",
    "bf16",
    "f16",
    "f32",
    "fp8",
    "int8",
    "int4",
    "nvfp4",
    "q8_0",
    "q5_1",
    "q5_0",
    "q4_1",
    "q4_0",
    "iq4_nl",
    "int8_per_token_head",
    "fp8_per_token_head",
    "fp8_ds_mla",
    "nvfp4_ds_mla",
]


class CacheDtype(NamedTuple):
    """Formats of keys and of values, which llama.cpp lets differ."""

    key: Format
    value: Format

    @property
    def name(self) -> str:
        return self.key.name if self.key == self.value else f"{self.key.name}/{self.value.name}"


def check_cache_dtype(text: str) -> str:
    """The canonical spelling: `auto`, one name, or `keys/values`. Raises KvError with the list."""
    parts = text.strip().lower().split("/")
    names = [CACHE_ALIASES.get(part, part) for part in parts]
    known = all(name in CACHE_FORMATS or (name == "auto" and len(names) == 1) for name in names)
    if not known or len(names) > 2:
        raise KvError("refused-kv-dtype", value=text, known=", ".join(CACHE_CHOICES))
    return "/".join(names)


def cache_dtype(name: str) -> CacheDtype:
    """Formats behind a canonical spelling other than `auto`."""
    first, _, second = name.partition("/")
    return CacheDtype(CACHE_FORMATS[first], CACHE_FORMATS[second or first])


def bytes_per_element(name: str) -> int:
    """Whole bytes of an element of a plain dtype (recurrent states are never block-quantised)."""
    return {"f32": 4, "fp8": 1, "int8": 1}.get(CACHE_ALIASES.get(name, name), 2)


# Bits per element of a quantised linear weight, scales included.
WEIGHT_BITS = {
    "bf16": 16.0,
    "f16": 16.0,
    "f32": 32.0,
    "fp8": 8.0,
    "int8": 8.0,
    "int4": 4.125,  # groups of 128 with an f16 scale
    "nf4": 4.5,  # blocks of 64 with an f32 scale
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "q8_0": 8.5,
    "q6_k": 6.5625,
    "q5_k": 5.5,
    "q5_0": 5.5,
    "q5_1": 6.0,
    "q4_k": 4.5,
    "q4_0": 4.5,
    "q4_1": 5.0,
    "iq4_xs": 4.25,
    "iq4_nl": 4.5,
    "q3_k": 3.4375,
    "q2_k": 2.625,
    "iq3_xxs": 3.0625,
    "iq2_xxs": 2.0625,
    "iq1_s": 1.5625,
    "tq1_0": 1.6875,
}

# A GGUF *file* name is a recipe that mixes tensor types; these are typical averages over the whole file.
GGUF_RECIPES = {
    "iq1_m": 2.1,
    "iq2_xs": 2.6,
    "iq2_s": 2.7,
    "iq2_m": 2.9,
    "iq3_xs": 3.5,
    "iq3_s": 3.7,
    "iq3_m": 3.8,
    "q2_k_xl": 3.0,
    "q3_k_xl": 3.9,
    "q4_k_xl": 4.8,
    "q5_k_xl": 5.7,
    "q6_k_xl": 7.0,
    "q8_k_xl": 9.6,
    "q2_k_m": 3.0,
    "q3_k_s": 3.5,
    "q3_k_m": 3.9,
    "q3_k_l": 4.3,
    "q4_k_s": 4.6,
    "q4_k_m": 4.85,
    "q5_k_s": 5.5,
    "q5_k_m": 5.7,
}

WEIGHT_ALIASES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "fp16": "f16",
    "half": "f16",
    "float32": "f32",
    "fp32": "f32",
    "float": "f32",
    "fp8_e4m3": "fp8",
    "w8a8": "int8",
    "w4a16": "int4",
    "awq": "int4",
    "gptq": "int4",
    "awq_marlin": "int4",
    "gptq_marlin": "int4",
    "bitsandbytes": "nf4",
    "bnb": "nf4",
    "fp4": "nvfp4",
    "modelopt_fp4": "nvfp4",
    "modelopt": "fp8",
}


def check_weights_dtype(text: str) -> str:
    """The canonical spelling of a weight format. Raises KvError with the list."""
    name = WEIGHT_ALIASES.get(text.strip().lower(), text.strip().lower())
    if name != "auto" and name not in WEIGHT_BITS and name not in GGUF_RECIPES:
        known = ", ".join(["auto", *WEIGHT_BITS, *GGUF_RECIPES])
        raise KvError("refused-weights-dtype", value=text, known=known)
    return name
