"""Bytes of weights on one GPU, computed from a config.json by counting its matrices.

A checkpoint's own total (safetensors index) is better and is used when a caller has it. What the count
does not see (vision towers, buffers, kernel padding) is said in the answer's assumptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from gpudiag.kv.cache import partition
from gpudiag.kv.config import Config
from gpudiag.kv.families import ties_embeddings
from gpudiag.kv.feedforward import FeedForward
from gpudiag.kv.layers import Attention, CrossAttention, Part, State
from gpudiag.kv.matrices import Matrices, Mixer
from gpudiag.kv.quantization import Format
from gpudiag.kv.shape import ModelShape
from gpudiag.kv.shared import own_matrices, shared_matrices, shares_blocks
from gpudiag.kv.towers import tower_matrices
from gpudiag.kv.traits import heads
from gpudiag.kv.traits.recurrent import N_GRAMS

# Kernels for MXFP4 pad experts to multiples of this; 6 to 9 % of the weights were measured for gpt-oss.
PADDED_TO = 256
MXFP4_PADDING = 1.072
MOST_BYTES = 2**60
# Families whose smaller models reuse the embedding as output head and whose larger ones do not.
HEAD_UNSAID = ("minicpm",)
LEARNED_POSITIONS = ("gpt2", "gpt_bigcode", "gpt_neo", "opt")

# Parts that follow the attention where its GPUs are fewer than all.
OF_ATTENTION = ("attention", "kv", "bias", "indexer", "linear attention", "mamba", "embedding")

Layer = tuple[Matrices, ...]


class Split(NamedTuple):
    """Over how many GPUs the matrices are divided: most of them, those of attention, routed experts.

    SGLang's data-parallel attention has fewer for attention; vLLM divides experts over its replicas, too
    (`FusedMoEParallelConfig.make`, with and without expert parallelism).
    """

    tp: int
    attention: int
    experts: int

    def of(self, part: str) -> int:
        if part == "experts":
            return self.experts
        return self.attention if part in OF_ATTENTION else self.tp


ALONE = Split(1, 1, 1)


class WeightCount:
    """The matrices of one model per layer, counted once and sharded as asked."""

    def __init__(self, config: Config, shape: ModelShape) -> None:
        self.config = config
        self.shape = shape
        self.hidden = heads.hidden_size(config)
        self.mixer, self.feed_forward = Mixer(config), FeedForward(config)
        self._known: dict[object, Layer] = {}
        self.layers = [self._read(index, parts) for index, parts in enumerate(shape.attending)]
        self._stages: dict[tuple[int, bool, bool], list[Counter[Matrices]]] = {}

    def parameters(self) -> int:
        """Parameters of the language model, without draft layers."""
        return sum(one.elements * count for stage in self._counted(1, False) for one, count in stage.items())

    @property
    def pads_experts(self) -> bool:
        """Whether MXFP4 kernels pad this model's experts: their width is no multiple of what kernels take."""
        return self.has_experts and bool(self.hidden % PADDED_TO)

    @property
    def guesses_head(self) -> bool:
        """Whether the config leaves open that the output head is the embedding; it is counted apart then."""
        return self.config.family in HEAD_UNSAID and self.config.get("tie_word_embeddings") is None

    def bytes(
        self, form: Format, split: Split = ALONE, pp: int = 1, draft: bool = False, padded: bool = True
    ) -> int:
        """Bytes on the GPU that holds most, in each of `pp` stages; `padded` as kernels need it."""
        counted = self._counted(pp, draft, form.plain_draft)
        padding = MXFP4_PADDING if padded and form.name == "mxfp4" and self.pads_experts else 1.0
        return round(
            max(sum(_bytes(one, form, split, padding) * n for one, n in stage.items()) for stage in counted)
        )

    def _counted(self, pp: int, draft: bool, plain: bool = False) -> list[Counter[Matrices]]:
        """Equal matrices counted per pipeline stage; embedding on the first, head on the last.

        `plain`: the draft layer keeps 16 bits.
        """
        known = self._stages.get((pp, draft, plain))
        if known is not None:
            return known
        found, first = [], 0
        for number, size in enumerate(partition(len(self.layers), pp)):
            stage: Counter[Matrices] = Counter()
            for layer, times in Counter(self.layers[first : first + size]).items():
                for one in layer:
                    stage[one] += times
            if shares_blocks(self.config):
                stage.update(shared_matrices(self.config, self.shape.layers[first : first + size]))
            stage.update(self._first() if number == 0 else ())
            if number == pp - 1:
                stage.update(self._last())
                stage.update(_draft(self.layers[-1], plain) if draft else ())
            found.append(stage)
            first += size
        self._stages[pp, draft, plain] = found
        return found

    def _read(self, index: int, parts: tuple[Part, ...]) -> Layer:
        """A layer's matrices; layers alike in what decides them are read once."""
        feed = self.feed_forward.kind(index, bool(parts))
        reuses = bool(parts) and not self.shape.layers[index]
        key = (parts, reuses, feed, self.feed_forward.dense_width(index) if feed == "dense" else 0)
        if key not in self._known:
            self._known[key] = tuple(self._layer(index, parts, reuses))
        return self._known[key]

    @property
    def has_experts(self) -> bool:
        return any(one.part == "experts" for layer in self.layers for one in layer)

    def _first(self) -> list[Matrices]:
        found = [Matrices("embedding", _padded(self.shape.vocabulary) * self.hidden, linear=False)]
        found += [*self._positions(), *self._per_layer_embedding()]
        found += tower_matrices(self.config)
        return found + self._encoder()

    def _per_layer_embedding(self) -> list[Matrices]:
        """Gemma 3n and 4 look every token up once per layer, in a narrow table of its own.

        It is projected to all layers at once, and comes to each through a gate and a projection back.
        Gemma 3n also mixes several streams (AltUp) and adds a low-rank residual (LAuReL).
        """
        width = self.config.text.get("hidden_size_per_layer_input") or 0
        rows = self.config.text.get("vocab_size_per_layer_input") or self.shape.vocabulary
        if not width:
            return []
        narrow = width * len(self.layers)
        streams = max(0, int(self.config.text.get("altup_num_inputs") or 1) - 1)
        residual = 2 * int(self.config.text.get("laurel_rank") or 0) * len(self.layers)
        mixing = 2 * streams * self.hidden + residual
        return [
            Matrices("embedding", narrow * rows, linear=False),
            Matrices("projection", (3 * narrow + mixing) * self.hidden, sharded=False),
        ]

    def _positions(self) -> list[Matrices]:
        """A learned table of positions, in models from before rotary ones."""
        rows = self.shape.max_positions or 0
        if self.config.family not in LEARNED_POSITIONS or not rows:
            return []
        return [Matrices("embedding", rows * self.hidden, linear=False, sharded=False)]

    def _encoder(self) -> list[Matrices]:
        """The other half of an encoder-decoder model, whose keys lie beside the decoder's."""
        if not any(isinstance(part, CrossAttention) for part in self.shape.parts()):
            return []
        text = self.config.text
        layers = text.get("encoder_layers") or text.get("num_layers") or 0  # of T5, whose decoder has its own
        inner = text.get("encoder_ffn_dim") or self.feed_forward.dense_width(0)
        width = heads.query_heads(self.config) * heads.head_dim(self.config)
        each = 4 * self.hidden * width + self.feed_forward.elements(inner, self.hidden)
        return [Matrices("encoder", layers * each)]

    def _last(self) -> list[Matrices]:
        """Final norm and output head; a tied head is the embedding, stored once."""
        found = [Matrices("norm", self.hidden, linear=False, sharded=False)]
        tied = ties_embeddings(self.config.family)
        if not self.config.get("tie_word_embeddings", default=tied):
            found.append(Matrices("head", _padded(self.shape.vocabulary) * self.hidden, linear=False))
        return found

    def _layer(self, index: int, parts: tuple[Part, ...], reuses: bool) -> Iterator[Matrices]:
        """Matrices of one layer. One that reuses the keys and values of another projects none of its own."""
        for part in parts:
            if isinstance(part, Attention) and shares_blocks(self.config):
                yield from own_matrices(self.config)
            else:
                yield from (one for one in self.mixer.matrices(part) if not (reuses and one.part == "kv"))
        yield from self.feed_forward.matrices(index, bool(parts))
        yield from self._streams(parts)
        yield Matrices("norm", 2 * self.hidden, linear=False, sharded=False)

    def _streams(self, parts: tuple[Part, ...]) -> Iterator[Matrices]:
        """Qwen 4 mixes several residual streams through a narrow middle, before attention and before experts.

        A layer that looks n-grams up projects them to all streams; their table lies with the host.
        """
        narrow = int(self.config.text.get("hc_lowrank") or 0)
        if not narrow:
            return
        count = int(self.config.text.get("hc_count") or 1)
        wide = count * self.hidden
        yield Matrices("streams", 2 * wide * (2 * narrow + count), sharded=False)
        if any(isinstance(part, State) and part.design == N_GRAMS for part in parts):
            looked_up = int(self.config.text.get("ple_embed_dim") or self.hidden)
            yield Matrices("streams", looked_up * (wide + self.hidden), sharded=False)


def stated_bytes(index: Any) -> int | None:
    """What a safetensors index says its files hold; None where it does not say, as some merged ones."""
    metadata = index.get("metadata") if isinstance(index, dict) else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if not isinstance(total, (int, float)) or isinstance(total, bool):
        return None
    return int(total) if 0 < total < MOST_BYTES else None


def _draft(layer: Layer, plain: bool) -> Layer:
    """A draft layer, which is like the last one; by the name of no part where nothing of it is converted."""
    return tuple(one._replace(part="draft", linear=False) for one in layer) if plain else layer


@lru_cache(maxsize=256)
def _padded(vocabulary: int) -> int:
    return -(-vocabulary // 64) * 64


def _bytes(one: Matrices, form: Format, split: Split, padding: float) -> float:
    tp = split.of(one.part)
    shards = min(tp, one.most_shards or tp) if one.sharded else 1
    elements = one.elements / shards
    bits = form.bits_of(one.part, one.linear)
    return elements * bits / 8 * (padding if one.part == "experts" else 1.0)
