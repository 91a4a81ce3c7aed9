"""A config.json as published: where its keys hide, under all the names that families use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudiag.kv.errors import KvError

Json = Any

# Where a multimodal config keeps the part that generates text, in the order engines look.
TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")


class Config:
    """Read-only view of one config: the text part first, the root behind it."""

    __slots__ = ("root", "text")

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root
        self.text = _text_part(root)

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
            raise KvError(f"config: {names[0]} is missing; is this the config.json of a language model?")
        return default

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
        raise KvError(f"config: {name} must be a whole number, not {value!r:.60}")
    if not 1 <= value <= most:
        raise KvError(f"config: {name} is {value}, which no model has; expected 1 to {most:,}")
    return int(value)


def _text_part(root: Mapping[str, Json]) -> Mapping[str, Json]:
    for name in TEXT_PARTS:
        part = root.get(name)
        if isinstance(part, Mapping):
            inner = part.get("text_config")
            return inner if isinstance(inner, Mapping) else part
    return root


def open_config(root: Json) -> Config:
    """A Config, or a KvError that says what this JSON is instead of a model's config."""
    if not isinstance(root, Mapping):
        raise KvError(f"config: expected a JSON object, got {_kind(root)}; post the model's config.json")
    if "peft_type" in root or "base_model_name_or_path" in root:
        base = root.get("base_model_name_or_path") or "the base model"
        raise KvError(
            f"config: this is an adapter (LoRA/PEFT), it has no KV cache of its own; ask about {base}"
        )
    if "_class_name" in root or "_diffusers_version" in root:
        raise KvError(
            "config: this is a diffusion pipeline, which keeps no KV cache; ask about a language model"
        )
    if not root:
        raise KvError("config: the object is empty; post the model's config.json")
    if "quantization" in root and "producer" in root and "num_hidden_layers" not in root:
        raise KvError("config: this is hf_quant_config.json; post the config.json next to it")
    return Config(root)


def _kind(value: Json) -> str:
    names = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "true or false"}
    return names.get(type(value), "null")
