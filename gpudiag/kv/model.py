"""The model and the GPU that a question means, and whether they can be split as asked."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from gpudiag.kv import catalogue
from gpudiag.kv.cache import Stage
from gpudiag.kv.config import Config, open_config
from gpudiag.kv.errors import KvError
from gpudiag.kv.layers import Attention, CompressedLatent, Latent, State
from gpudiag.kv.question import GIB, Question
from gpudiag.kv.shape import ModelShape, read_shape
from gpudiag.kv.traits.latent import UNABSORBED, absorbed
from gpudiag.kv.weights import WeightCount


class Model(NamedTuple):
    """A model that was read: what it is called, its geometry and weights, and where they come from."""

    name: str
    config: Config
    shape: ModelShape
    weights: WeightCount
    source: str
    verified: bool = True
    named_weights: str | None = None


def read_model(question: Question) -> Model:
    if question.config is not None:
        return _given_model(question)
    return _catalogue_model(question.model or "")


def _given_model(question: Question) -> Model:
    """A model read from a raw config. Its values are anybody's: what they break becomes one sentence."""
    config = open_config(question.config)
    called = question.model or config.called
    try:
        shape = read_shape(config)
        count = WeightCount(config, shape)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        why = str(error).replace("\n", " ")
        raise KvError("refused-config-value", why=why) from None
    named = None if config.quantization else catalogue.stated_weights(called)
    return Model(called, config, shape, count, "config.json as given", named_weights=named)


@lru_cache(maxsize=64)
def _catalogue_model(name: str) -> Model:
    named = catalogue.find_model(name)
    entry, config = named.model, Config(named.model.config)
    shape = read_shape(config)
    count = WeightCount(config, shape)
    return Model(entry.name, config, shape, count, entry.source, entry.verified, named.weights_dtype)


def as_sglang_keeps(model: Model) -> Model:
    """What SGLang keeps otherwise than vLLM does.

    MiniCPM 3 is a latent: SGLang's attention absorbs it (`configs/model_config.py`), vLLM expands it. Layers
    that reuse the keys of an earlier one get rows all the same: `get_hybrid_layer_ids` names every layer.
    """
    layers = model.shape.attending
    if model.config.family in UNABSORBED:
        layers = ((absorbed(model.config),),) * len(layers)
    return model._replace(shape=replace(model.shape, layers=layers))


def read_gpu(asked: str | float | None) -> catalogue.Gpu | None:
    """The GPU named or given in GiB. Of a number all is taken to be CUDA's."""
    if asked is None or isinstance(asked, str):
        return None if asked is None else catalogue.find_gpu(asked)
    return catalogue.Gpu(f"{asked:g} GiB", (), round(asked * GIB), "", False, False, 0)


def rotary_table(model: Model) -> int:
    """Cosines and sines for every position: 0.03 GiB for 131,072 of them, 2.5 GiB for Llama 4 Scout."""
    positions = model.shape.max_positions or 0
    width = 0
    for part in model.shape.parts():
        width = max(width, getattr(part, "rope_dim", 0) or getattr(part, "key_dim", 0))
    return positions * width * 2


def absorbed_copies(stages: list[Stage], tp: int) -> int:
    """What vLLM keeps beside the expanding projection of latent attention: the same, parted, at 16 bits.

    `process_weights_after_loading` in `layers/attention/mla_attention.py`; GLM-5.2 prints 290 MiB of it.
    SGLang's `w_kc` and `w_vc` are the same, as wide as its attention (`models/deepseek_common`).
    """
    return max(
        sum(
            count * part.rank * (part.unabsorbed_dims - part.rope_dim) * part.query_heads // tp * 2
            for part, count in stage.parts
            if isinstance(part, Latent)
        )
        for stage in stages
    )


def divides(shape: ModelShape, tp: int) -> bool:
    try:
        check_sharding(shape, tp)
    except KvError:
        return False
    return True


def check_sharding(shape: ModelShape, tp: int) -> None:
    for part in shape.parts() if tp > 1 else ():
        queries, keys = getattr(part, "query_heads", None), getattr(part, "kv_heads", None)
        if queries and queries % tp:
            fitting = ", ".join(str(one) for one in range(1, queries + 1) if queries % one == 0 and one <= 64)
            raise KvError("refused-tp-heads", heads=queries, tp=tp, fitting=fitting)
        if keys and keys % tp and tp % keys:
            raise KvError("refused-tp-kv-heads", heads=keys, tp=tp)
        if isinstance(part, State) and part.heads % tp:
            raise KvError("refused-tp-state", heads=part.heads, tp=tp)


def check_context_parallel(shape: ModelShape, tp: int, dcp: int, engine: str | None) -> None:
    """A sequence's tokens are divided where GPUs would else hold the same keys; windows are not."""
    for part in shape.parts() if dcp > 1 else ():
        if isinstance(part, CompressedLatent) or getattr(part, "window", None) is not None:
            raise KvError("refused-dcp-window")
        if isinstance(part, Attention) and engine == "vllm" and dcp > max(1, tp // part.kv_heads):
            raise KvError("refused-dcp-heads", heads=part.kv_heads, tp=tp, most=max(1, tp // part.kv_heads))


def check_block(shape: ModelShape, block: int | None) -> None:
    """A block of vLLM holds whole rows of DeepSeek V4, each of which stands for several tokens."""
    ratios = [part.ratio for part in shape.parts() if isinstance(part, CompressedLatent) and part.ratio > 1]
    if block is not None and any(block % ratio for ratio in ratios):
        raise KvError("refused-block", block=block, ratio=max(ratios))


def check_stages(shape: ModelShape, pp: int) -> None:
    if pp > len(shape.layers):
        raise KvError("refused-pp", pp=pp, layers=len(shape.layers))


def check_pool(pool: int | None, card: int | None) -> None:
    """A pool that is given lies on the GPU that is given."""
    if pool is not None and card is not None and pool > card:
        raise KvError("refused-pool", pool=pool, card=card)
