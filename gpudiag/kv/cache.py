"""Bytes that one GPU keeps for one sequence: the exact need, before any engine rounds it.

All functions are pure. `tp` divides KV heads (never below one head) and states, never an MLA latent row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpudiag.kv.dtypes import CacheDtype, bytes_per_element
from gpudiag.kv.layers import Attention, CompressedLatent, CrossAttention, Latent, Part, State
from gpudiag.kv.shape import ModelShape, count_parts

INDEXER_SCALE_EVERY = 128  # one f32 scale per 128 fp8 elements of an indexer key
INDEX_KEY_BYTES = 2  # of a block index, in vLLM 0.33 whatever the cache's dtype (`minimax_m3`, `qwen4_exp`)
ROPE_BYTES = 2  # the rope part of a wide fp8 row stays at 16 bits
V4_ROW = 584  # 448 fp8 + 64 × 2 rope + 8 scale: one compressed or window row of DeepSeek V4


class Storage(NamedTuple):
    """How an engine stores what a sequence keeps, on one of `tp` GPUs.

    `state_dtype` is the convolution tail's. A recurrent matrix is kept as the person asks (`matrix_asked`,
    which KDA does not heed), as its config does, or as the engine does (`matrix_dtype`); with `state_float32`
    (llama.cpp) both are f32. `speculative` draft tokens widen or repeat states.
    """

    dtype: CacheDtype
    tp: int = 1
    state_dtype: str = "bf16"
    matrix_dtype: str | None = None
    matrix_asked: str | None = None
    state_float32: bool = False
    speculative: int = 0


def rate(part: Part, storage: Storage) -> int:
    """Bytes per token that this part stores while it grows. 0 for states and cross attention."""
    if isinstance(part, Attention):
        return _attention_rate(part, storage)
    if isinstance(part, Latent):
        return _latent_rate(part, storage) + indexer_rate(part.index_dim, part.index_pool)
    if isinstance(part, CompressedLatent):
        return _compressed_rate(part)
    return 0


def state_bytes(part: Part, storage: Storage) -> int:
    """Bytes per sequence that do not grow, for states and cross attention; 0 for the others."""
    if isinstance(part, State):
        return conv_bytes(part, storage) + matrix_bytes(part, storage)
    if isinstance(part, CrossAttention):
        heads = max(1, part.kv_heads // storage.tp)
        dtype = storage.dtype
        row = dtype.key.bytes_of(part.key_dim, heads) + dtype.value.bytes_of(part.value_dim, heads)
        return row * part.positions
    if isinstance(part, CompressedLatent):
        return part.window * V4_ROW
    return 0


def window_of(part: Part) -> int | None:
    """Number of tokens after which this part stops growing; None when it never stops."""
    return part.window if isinstance(part, Attention) else None


def part_bytes(part: Part, storage: Storage, tokens: int) -> int:
    """Exact bytes of one layer's part for one sequence of `tokens`."""
    window = window_of(part)
    kept = tokens if window is None else min(tokens, window)
    return rate(part, storage) * kept + state_bytes(part, storage)


class Stage(NamedTuple):
    """The layers of one pipeline stage, counted: the memory of the fullest GPU is decided here."""

    parts: tuple[tuple[Part, int], ...]

    def unwindowed(self) -> Stage:
        """The same layers for an engine that keeps every token of a window layer."""
        counted: Counter[Part] = Counter()
        for part, count in self.parts:
            counted[replace(part, window=None) if isinstance(part, Attention) else part] += count
        return Stage(tuple(counted.items()))

    def bytes_per_token(self, storage: Storage, tokens: int) -> int:
        """What grows with a sequence at this length: window layers count until their window is full."""
        return sum(
            count * rate(part, storage)
            for part, count in self.parts
            if (window := window_of(part)) is None or tokens <= window
        )

    def fixed_bytes(self, storage: Storage, tokens: int) -> int:
        """What does not grow at this length: states, encoder positions, full windows."""
        total = 0
        for part, count in self.parts:
            total += count * state_bytes(part, storage)
            window = window_of(part)
            if window is not None and tokens > window:
                total += count * rate(part, storage) * window
        return total

    def sequence_bytes(self, storage: Storage, tokens: int) -> int:
        return sum(count * part_bytes(part, storage, tokens) for part, count in self.parts)


def stages(shape: ModelShape, pp: int, draft: bool = False) -> list[Stage]:
    """The model's layers dealt to `pp` stages as vLLM does; draft layers sit on the last one."""
    found = []
    first = 0
    for number, size in enumerate(partition(len(shape.layers), pp)):
        counted = count_parts(shape.layers[first : first + size])
        if draft and number == pp - 1:
            counted.update(shape.draft)
        found.append(Stage(tuple(counted.items())))
        first += size
    return found


def partition(layers: int, pp: int) -> list[int]:
    """Layers per stage; what does not divide goes to the stages before the last, from behind."""
    sizes = [layers // pp] * pp
    for extra in range(2, layers % pp + 2):
        sizes[-extra] += 1
    return sizes


def fullest(found: Sequence[Stage], storage: Storage, tokens: int) -> Stage:
    """The stage whose GPU needs most for a sequence of `tokens`."""
    return max(found, key=lambda stage: stage.sequence_bytes(storage, tokens))


def if_every_head_had_its_own(parts: Iterable[tuple[Part, int]], storage: Storage) -> int:
    """Bytes per token of the same growing layers with one KV head per attention head (plain MHA)."""
    total = 0
    for part, count in parts:
        if isinstance(part, Attention) and part.window is None:
            heads = max(1, part.query_heads // storage.tp)
            total += count * _row(storage.dtype, heads, part.key_dim, part.value_dim)
        elif isinstance(part, Latent):
            heads = max(1, part.query_heads // storage.tp)
            total += count * storage.dtype.key.bytes_of(part.unabsorbed_dims, heads)
        elif isinstance(part, CompressedLatent):
            heads = max(1, part.query_heads // storage.tp)
            total += count * _row(storage.dtype, heads, part.width, part.width)
    return total


def indexer_rate(dim: int, pool: int = 1) -> int:
    """One fp8 key with its f32 scales for `pool` tokens; 0 for a layer without an indexer."""
    return -(-(dim + 4 * -(-dim // INDEXER_SCALE_EVERY)) // pool)


def conv_bytes(part: State, storage: Storage) -> int:
    """The last columns of the convolution's input that the next token needs."""
    columns = part.conv_kernel - 1 + (0 if storage.state_float32 else storage.speculative)
    element = 4 if storage.state_float32 else bytes_per_element(storage.state_dtype)
    return columns * _conv_width(part, storage.tp) * element


def matrix_bytes(part: State, storage: Storage) -> int:
    asked = storage.matrix_asked if part.design != "kda" else None
    named = asked or part.matrix_dtype or storage.matrix_dtype or storage.state_dtype
    element = 4 if storage.state_float32 else bytes_per_element(named)
    return part.matrix // storage.tp * element


def _conv_width(part: State, tp: int) -> int:
    groups = part.groups if part.groups % tp == 0 else tp  # repeated until every GPU has one
    return (part.conv_width + groups * part.group_width) // tp


def _attention_rate(part: Attention, storage: Storage) -> int:
    heads = max(1, part.kv_heads // storage.tp)  # replicated when there are more GPUs than heads
    row = _row(storage.dtype, heads, part.key_dim, part.value_dim)
    return row + index_key_rate(part)


def index_key_rate(part: Attention) -> int:
    return -(-INDEX_KEY_BYTES * part.index_dim // part.index_pool)


def _row(dtype: CacheDtype, heads: int, key_dim: int, value_dim: int) -> int:
    return dtype.key.bytes_of(key_dim, heads) + dtype.value.bytes_of(value_dim, heads)


def _latent_rate(part: Latent, storage: Storage) -> int:
    name = storage.dtype.key.name
    width = part.rank + part.rope_dim
    if name == "fp8_ds_mla" or (name == "fp8" and part.wide_fp8):
        return part.rank + 4 * (part.rank // INDEXER_SCALE_EVERY) + ROPE_BYTES * part.rope_dim
    if name == "nvfp4_ds_mla":
        return 352 * width // 576
    return storage.dtype.key.bytes_of(width)


def _compressed_rate(part: CompressedLatent) -> int:
    """Per original token, pages rounded up to 576 bytes at blocks of 256 tokens."""
    if part.ratio <= 1:
        return 0
    rows = 256 // part.ratio
    page = -(-rows * V4_ROW // 576) * 576
    index = -(-rows * indexer_rate(part.index_dim) // 576) * 576 if part.index_dim else 0
    return -(-(page + index) // 256)
