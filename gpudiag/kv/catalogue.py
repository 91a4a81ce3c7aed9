"""Models and GPUs that people name without a config: data files, read only when a name is asked for."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import Any, NamedTuple

from gpudiag.kv.dtypes import GGUF_RECIPES, WEIGHT_BITS
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
    """A GPU and the total memory that NVML shows for it, which is not the number on the box.

    `shared` is memory that the host's own programs use too. `reserved_bytes` is what the driver keeps for
    itself, so that CUDA shows less than NVML.
    """

    name: str
    aliases: tuple[str, ...]
    total_bytes: int
    source: str
    verified: bool
    shared: bool
    reserved_bytes: int


class Named(NamedTuple):
    """What a name means: a model, and the weight format that the name states beyond it."""

    model: Model
    weights_dtype: str | None


# Endings of names of tuned and quantised copies, folded, and the weight format they state.
ENDINGS: dict[str, str | None] = {
    **{form.replace("_", ""): form for form in (*WEIGHT_BITS, *GGUF_RECIPES)},
    "quantizedw4a16": "int4",
    "quantizedw8a8": "int8",
    "fp8dynamic": "fp8",
    "gptqint4": "int4",
    "gptqint8": "int8",
    "bnb4bit": "nf4",
    "terminus": None,
    "instruct": None,
    "8bit": "int8",
    "4bit": "int4",
    "w4a16": "int4",
    "w8a8": "int8",
    "gguf": None,
    "gptq": "int4",
    "base": None,
    "chat": None,
    "awq": "int4",
    "fp4": "nvfp4",
    "exp": None,
    "qat": None,
    "hf": None,
    "it": None,
    "ud": None,
}
COPIES = sorted(ENDINGS.items(), key=lambda ending: -len(ending[0]))


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
        total, shared = row["mib"] * MIB, row.get("shared", False)
        gpu = Gpu(
            row["name"],
            tuple(row["aliases"]),
            total,
            row["source"],
            row.get("verified", True),
            shared,
            0 if shared or row["name"].startswith("MI") else _reserved(total),
        )
        for spelling in (gpu.name, *gpu.aliases):
            found.setdefault(folded(spelling), gpu)
    return found


def _reserved(total: int) -> int:
    """What NVIDIA's driver keeps: 0.44 GiB of 24, 0.53 of 80, 0.63 of 140, as vLLM and PyTorch print totals.

    Logs lie within 0.3 GiB of it; the driver's version matters too.
    """
    return 410 * MIB + total // 600


def find_model(name: str) -> Named:
    """The model that `name` means, and the weight format it adds. Raises UnknownModel with near names."""
    known = models()
    tail = folded(name.rpartition("/")[2])
    found = known.get(folded(name)) or known.get(tail)
    if found is not None:
        return Named(found, None)
    for base, weights in _bases(tail).items():
        if base in known:
            return Named(known[base], weights)
    near = _near(name, [spelling for one in _each(known) for spelling in one.aliases[:1]])
    raise UnknownModel("refused-model-near" if near else "refused-model", name=name, near=near)


def stated_weights(name: str) -> str | None:
    """The weight format that a model's name ends in, whether or not the catalogue has the model."""
    return next((form for form in _bases(folded(name.rpartition("/")[2])).values() if form), None)


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


def _bases(name: str) -> dict[str, str | None]:
    """Names that `name` may be a copy of, with the weight format that its endings state.

    Endings overlap once punctuation is gone: 8B-F16 and 8-BF16 fold to the same letters.
    """
    found: dict[str, str | None] = {name: None}
    for bare in (queue := [name]):
        for ending, form in COPIES:
            base = bare.removesuffix(ending)
            if base and base not in found:
                found[base] = found[bare] or form
                queue.append(base)
    return found


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
