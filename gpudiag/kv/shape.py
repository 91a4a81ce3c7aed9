"""From a config.json to what memory depends on: per layer, what is kept for a sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gpudiag.kv.config import Config, open_config, positive
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Attention, CompressedLatent, CrossAttention, Latent, Part, State
from gpudiag.kv.note import Note, note
from gpudiag.kv.traits import heads, patterns
from gpudiag.kv.traits.encoder import is_encoder
from gpudiag.kv.traits.kinds import parts_of
from gpudiag.kv.traits.latent import index_dim

Layers = tuple[tuple[Part, ...], ...]

POSITIONS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_target_positions",
    "max_seq_length",
    "seq_len",
)


# Keys that may hold one value per layer; without them, layers of one kind are alike.
PER_LAYER = (
    *heads.QUERY,
    *heads.KEY_VALUE,
    *heads.PER_LAYER,
    *heads.HEAD_DIM,
    "block_configs",
    "compress_ratios",
    "indexer_types",
    "per_layer_config",
    "ple_layer_ids",
)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """One model's geometry. `layers` holds a tuple of parts per layer; `draft` those of its MTP layers.

    `attending` are the layers as they attend, also those that keep nothing since they reuse an earlier cache.

    `cache_dtype` is what the checkpoint asks for the KV cache ("auto" when nothing).
    `notes` name facts that are known less well than the rest; an answer repeats them.
    """

    family: str
    layers: Layers
    draft: tuple[Part, ...]
    hidden: int
    vocabulary: int
    max_positions: int | None
    dtype: str
    cache_dtype: str
    attending: Layers = ()
    architectures: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def parts(self) -> Counter[Part]:
        """How many layers keep each kind of part."""
        return count_parts(self.layers)


def count_parts(layers: Iterable[tuple[Part, ...]]) -> Counter[Part]:
    """Equal parts counted. Layers alike share one tuple, so each is looked into once."""
    times: dict[int, int] = {}
    seen: dict[int, tuple[Part, ...]] = {}
    for parts in layers:
        times[id(parts)] = times.get(id(parts), 0) + 1
        seen[id(parts)] = parts
    counted: Counter[Part] = Counter()
    for key, parts in seen.items():
        for part in parts:
            counted[part] += times[key]
    return counted


def read_shape(config: Any) -> ModelShape:
    """The shape that a config.json describes.

    Raises KvError for anything that is not a language model's config, UnknownLayer for a layer type
    whose memory is not known.
    """
    reader = config if isinstance(config, Config) else open_config(config)
    if is_encoder(reader):
        raise KvError("refused-config-encoder", family=reader.family)
    kinds = patterns.layer_kinds(reader)
    layers = _read_layers(reader, kinds)
    return ModelShape(
        family=reader.family,
        layers=_drop_shared(reader, layers),
        draft=_draft_parts(reader, layers),
        hidden=heads.hidden_size(reader),
        vocabulary=reader.number("vocab_size", "padded_vocab_size", default=32000),
        max_positions=max_positions(reader),
        dtype=_dtype(reader),
        cache_dtype=_cache_dtype(reader),
        attending=layers,
        architectures=reader.architectures,
        notes=tuple(_notes(reader, layers)),
    )


def _read_layers(config: Config, kinds: list[str]) -> Layers:
    """Parts per layer; equal ones share one object, so that counting them stays cheap."""
    seen: dict[Any, tuple[Part, ...]] = {}
    alike: dict[str, tuple[Part, ...]] = {}
    varies = any(isinstance(config.text.get(name), (list, dict)) for name in PER_LAYER)
    varies = varies or bool(config.text.get("index_topk_freq"))
    own = config.by_layer(len(kinds))
    layers = []
    for layer, kind in enumerate(kinds):
        parts = None if varies else alike.get(kind)
        if parts is None:
            parts = parts_of(kind, own.get(layer, config), layer)
            parts = alike[kind] = seen.setdefault(parts, parts)
        layers.append(parts)
    if not any(layers):
        raise KvError("refused-config-stateless")
    return tuple(layers)


def _drop_shared(config: Config, layers: Layers) -> Layers:
    """Layers that reuse the keys and values of an earlier one keep none (Gemma 3n and 4, HunYuan)."""
    last = config.text.get("num_kv_shared_layers") or 0
    if last:
        positive(last, "num_kv_shared_layers", most=len(layers) - 1)
        return (*layers[: len(layers) - last], *((),) * last)
    factor = config.text.get("cla_share_factor") or 1
    if factor > 1 and config.text.get("use_cla", True):
        return tuple(parts if index % factor == 0 else () for index, parts in enumerate(layers))
    return layers


def _draft_parts(config: Config, layers: Layers) -> tuple[Part, ...]:
    """The attention of the model's own multi-token-prediction layers, empty when it has none."""
    named = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
    count = next((config.text[name] for name in named if config.text.get(name)), 0)
    if count:
        positive(count, "number of draft layers", most=64)
    growing = [part for parts in layers for part in parts if isinstance(part, (Attention, Latent))]
    full = [part for part in growing if isinstance(part, Latent) or part.window is None] or growing
    drafts = enumerate(full[-1:] * count, start=len(layers))
    return tuple(
        replace(part, index_dim=index_dim(config, layer)) if isinstance(part, Latent) else part
        for layer, part in drafts
    )


def max_positions(config: Config) -> int | None:
    """The longest sequence that the model was made for; None when the config does not say."""
    if config.text.get("model_max_length"):
        return int(config.text["model_max_length"])
    named = [config.text.get(name) for name in POSITIONS]
    found = [one for one in named if isinstance(one, int) and not isinstance(one, bool) and one > 0]
    return int(min(found) * _stretched(config, min(found))) if found else None


def _stretched(config: Config, positions: int) -> float:
    """By how much rotary scaling lengthens the positions. Most configs state positions already lengthened."""
    scaling = config.text.get("rope_scaling") or config.text.get("rope_parameters")
    if not isinstance(scaling, dict) or config.family.startswith("gemma3"):
        return 1.0
    kind, factor = scaling.get("rope_type") or scaling.get("type"), scaling.get("factor")
    if not isinstance(factor, (int, float)) or not 1 < factor <= 1024:
        return 1.0
    unscaled = kind == "yarn" and scaling.get("original_max_position_embeddings") == positions
    return float(factor) if kind in ("linear", "dynamic") or unscaled else 1.0


def _dtype(config: Config) -> str:
    return {"float16": "f16", "half": "f16", "float32": "f32", "float": "f32"}.get(config.dtype, "bf16")


def _cache_dtype(config: Config) -> str:
    """What the checkpoint or the model's code asks for the cache, whatever the weights are."""
    scheme = config.quantization.get("kv_cache_scheme") or config.quantization.get("kv_cache_quant_algo")
    if isinstance(scheme, dict) and scheme.get("num_bits") == 8:
        return "fp8" if scheme.get("type", "float") == "float" else "int8"
    if isinstance(scheme, str) and scheme.upper() in ("FP8", "NVFP4", "INT8"):
        return scheme.lower()
    return "fp8" if config.family in ("deepseek_v32", "deepseek_v4") else "auto"


def _notes(config: Config, layers: Layers) -> list[Note]:
    """Facts about this architecture that no measured log confirms yet."""
    kinds = {type(part) for parts in layers for part in parts}
    notes = []
    if patterns.assumes_alike(config):
        notes.append(note("family-assumed", family=config.family or "?"))
    if CompressedLatent in kinds:
        notes.append(note("beta-v4"))
    indexed = [part for parts in layers for part in parts if isinstance(part, Attention) and part.index_dim]
    if indexed:
        notes.append(note("beta-index" if indexed[0].index_pool == 1 else "beta-index-pool"))
    if config.text.get("ple_layer_ids"):
        notes.append(note("beta-n-grams"))
    if any(isinstance(part, Latent) and part.index_pool > 1 for parts in layers for part in parts):
        notes.append(note("beta-pool"))
    if CrossAttention in kinds:
        notes.append(note("beta-encoder"))
    states = {part.design for parts in layers for part in parts if isinstance(part, State)}
    if states & {"lightning", "short convolution"}:
        notes.append(note("beta-state"))
    return notes
