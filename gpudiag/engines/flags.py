"""What a server's command line declares: its model, how it is split, and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudiag.model import EngineReading

_SCALES = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}
"""vLLM's human-readable numbers: 8k is 8,000 and 8K is 8,192."""


@dataclass(frozen=True, slots=True)
class Flags:
    """One engine's options, by the field of EngineReading that each tells; `_` and `-` are the same.

    `model` are the options that name the model; `model_after` are words which a bare model's name follows.
    """

    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    model: tuple[str, ...] = ()
    model_after: tuple[str, ...] = ()


def put_flags(reading: EngineReading, flags: Flags, command: str) -> None:
    """Fill in what the command line declares and the engine's own page does not tell."""
    words = command.split()
    for name, options in flags.options.items():
        if getattr(reading, name) is None:
            value = option(words, options)
            found = None if value is None else _read(name, value)
            if found is not None:
                setattr(reading, name, found)
    reading.model_path = option(words, flags.model) or _bare_model(words, flags.model_after)


def option(words: list[str], names: tuple[str, ...]) -> str | None:
    """The value of the last of these options, as `--name value` or `--name=value`."""
    found = None
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.startswith("-") and name.replace("_", "-") in names:
            if not equals:
                value = words[place + 1] if place + 1 < len(words) else ""
            found = value or found
    return found


def _bare_model(words: list[str], after: tuple[str, ...]) -> str | None:
    """`vllm serve MODEL`: the word after the command, unless it is an option."""
    for place, word in enumerate(words[:-1]):
        following = words[place + 1]
        if word.rsplit("/", 1)[-1] in after and not following.startswith("-") and following not in after:
            return following
    return None


def _read(name: str, value: str) -> Any:
    """The value as its field wants it; None for what is no such number."""
    if name == "kv_dtype":
        return value
    number = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", value)
    if number is None:
        return None
    amount = float(number[1]) * _SCALES.get(number[2], 1)
    if name == "gpu_memory_utilization":
        return amount if 0 < amount <= 1 else None
    return round(amount) if 0 < amount < 1e12 else None
