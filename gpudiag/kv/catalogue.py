"""Models and GPUs that people name without a config: data files, read only when a name is asked for."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import Any, NamedTuple

from gpudiag.kv.errors import KvError, UnknownModel

HERE = os.path.join(os.path.dirname(__file__), "data")
MIB = 2**20
PUNCTUATION = {ord(sign): None for sign in " \t_-:/."}


class Model(NamedTuple):
    """A model's name, what people type for it, the keys of its config.json that matter, and their source."""

    name: str
    aliases: tuple[str, ...]
    config: dict[str, Any]
    source: str
    verified: bool


class Gpu(NamedTuple):
    """A GPU and the total memory that NVML shows for it, which is not the number on the box."""

    name: str
    aliases: tuple[str, ...]
    total_bytes: int
    source: str
    verified: bool


class Named(NamedTuple):
    """What a name means: a model, and the weight format that the name states beyond it."""

    model: Model
    weights_dtype: str | None


# Endings of names of tuned and quantised copies, folded; longest first.
COPIES = {
    "quantizedw4a16": "int4",
    "quantizedw8a8": "int8",
    "fp8dynamic": "fp8",
    "gptqint4": "int4",
    "gptqint8": "int8",
    "bnb4bit": "nf4",
    "instruct": None,
    "nvfp4": "nvfp4",
    "w4a16": "int4",
    "w8a8": "int8",
    "gptq": "int4",
    "int4": "int4",
    "int8": "int8",
    "base": None,
    "chat": None,
    "bf16": "bf16",
    "awq": "int4",
    "fp8": "fp8",
    "hf": None,
    "it": None,
}


@cache
def models() -> dict[str, Model]:
    """All models by every spelling, lower case and without punctuation."""
    found: dict[str, Model] = {}
    for row in _rows("models.json"):
        model = Model(
            row["name"], tuple(row["aliases"]), row["config"], row["source"], row.get("verified", True)
        )
        for spelling in (model.name, model.name.rpartition("/")[2], *model.aliases):
            found.setdefault(folded(spelling), model)
    return found


@cache
def gpus() -> dict[str, Gpu]:
    """All GPUs by every spelling."""
    found: dict[str, Gpu] = {}
    for row in _rows("gpus.json"):
        gpu = Gpu(
            row["name"], tuple(row["aliases"]), row["mib"] * MIB, row["source"], row.get("verified", True)
        )
        for spelling in (gpu.name, *gpu.aliases):
            found.setdefault(folded(spelling), gpu)
    return found


def find_model(name: str) -> Named:
    """The model that `name` means, and the weight format it adds. Raises UnknownModel with near names."""
    known = models()
    tail = folded(name.rpartition("/")[2])
    found = known.get(folded(name)) or known.get(tail)
    if found is not None:
        return Named(found, None)
    bare, quantized = _without_suffix(tail)
    found = known.get(bare)
    if found is None:
        near = _near(name, [spelling for one in _each(known) for spelling in one.aliases[:1]])
        raise UnknownModel("refused-model-near" if near else "refused-model", name=name, near=near)
    return Named(found, quantized)


def find_gpu(name: str) -> Gpu:
    """The GPU that `name` means; NVML's own names work too. Raises KvError with the nearest names."""
    known = gpus()
    text = re.sub(r"^(nvidia|geforce|tesla|amd|instinct)\s*", "", name.strip(), flags=re.IGNORECASE)
    for spelling in (name, text, re.sub(r"^(geforce|tesla|quadro)\s*", "", text, flags=re.IGNORECASE)):
        found = known.get(folded(spelling))
        if found is not None:
            return found
    near = _near(name, [one.name for one in _each(known)])
    raise KvError("refused-gpu-near" if near else "refused-gpu", name=name, near=near)


def all_gpus() -> list[Gpu]:
    """Every GPU once, smallest first."""
    return sorted(_each(gpus()), key=lambda gpu: gpu.total_bytes)


def all_models() -> list[Model]:
    return list(_each(models()))


def folded(name: str) -> str:
    """A spelling without case, spaces and punctuation: Llama-3.1-8B and llama3.1:8b are the same."""
    return name.lower().translate(PUNCTUATION)


def _without_suffix(name: str) -> tuple[str, str | None]:
    """A copy has the geometry of its base: (base, weight format named at the end, if any)."""
    quantized = None
    while True:
        for suffix, form in COPIES.items():
            if name.endswith(suffix) and len(name) > len(suffix):
                name, quantized = name[: -len(suffix)], quantized or form
                break
        else:
            return name, quantized


def _each(known: dict[str, Any]) -> list[Any]:
    return list({id(one): one for one in known.values()}.values())


def _near(name: str, known: list[str]) -> str:
    import difflib

    keys = {folded(one): one for one in known}
    near = difflib.get_close_matches(folded(name), keys, n=3, cutoff=0.5)
    return ", ".join(keys[key] for key in near)


def _rows(file: str) -> list[dict[str, Any]]:
    with open(os.path.join(HERE, file), encoding="utf-8") as handle:
        rows: list[dict[str, Any]] = json.load(handle)
    return rows
