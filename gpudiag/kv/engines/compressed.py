"""DeepSeek V4 in vLLM: compressed rows, windows and the states of the compressors, packed side by side.

Read from the wheels 0.20 to 0.33 (`models/deepseek_v4`, `v1/core/kv_cache_utils.py`), which lay the pages of
a block out in three ways. Start logs of V4-Flash agree: 0.22 wants 6.66 GiB for 30,000 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudiag.kv.cache import V4_ROW, indexer_rate
from gpudiag.kv.engines.plan import Group, Plan
from gpudiag.kv.layers import CompressedLatent

BLOCK = 256
WINDOW_BLOCK = 64
# Compress ratio → tokens per block and window of the compressor's state, kept in f32.
STATES = {4: (4, 8), 128: (8, 128)}
ALIGNMENT = 576
SLOTS_SINCE = (0, 23)  # before, every page size has as many slots as the largest group has layers
DENSE_SINCE = (0, 27)  # since then groups overlap in a block; before, each page size has slots of its own


def compressed_plan(
    parts: Iterable[tuple[CompressedLatent, int]], block: int, version: tuple[int, ...] | None
) -> Plan:
    """`parts` with their counts on one stage, as this version of vLLM lays them out; None: the newest."""
    counts: dict[int, int] = {}
    index, window = 0, 0
    for part, count in parts:
        counts[part.ratio] = counts.get(part.ratio, 0) + count
        index, window = max(index, part.index_dim), part.window
    layers = sum(counts.values())
    states = {ratio: count for ratio, count in counts.items() if ratio in STATES}
    repeats = _repeats([layers, *states.values()], least=states.get(4, 1))
    rows = {ratio: _aligned(block // ratio * V4_ROW) for ratio in states}
    index_page = _aligned(block // 4 * indexer_rate(index)) if 4 in states else 0
    wide = max([_aligned(WINDOW_BLOCK * V4_ROW), *rows.values()])

    full = sum(count * rows[ratio] for ratio, count in states.items()) + states.get(4, 0) * index_page
    held = [(Group(block), full)] if states else []
    held += [(Group(WINDOW_BLOCK, window=window), own * wide) for own in _dealt(layers, repeats)]
    for ratio, count in states.items():
        tokens, kept = STATES[ratio]
        page = wide + (index_page if ratio == 4 else 0)
        held += [(Group(tokens, window=kept), own * page) for own in _dealt(count, repeats)]
    groups, sizes = zip(*held, strict=True)
    if version is None or version >= DENSE_SINCE:
        return Plan(max(sizes), groups)
    if version < SLOTS_SINCE:
        return Plan(repeats * (sum(rows.values()) + index_page or wide), groups, sizes)
    narrow = sum(count * rows[ratio] for ratio, count in states.items() if rows[ratio] != wide)
    return Plan(repeats * wide + narrow + states.get(4, 0) * index_page, groups, sizes)


def _dealt(layers: int, repeats: int) -> list[int]:
    """Layers of each group, dealt in turn."""
    number = -(-layers // repeats)
    return [len(range(first, layers, number)) for first in range(number)]


def _repeats(counts: list[int], least: int) -> int:
    """Layers per group that pad the counts least; the larger of equals."""
    sizes = range(least, max(counts) + 1)
    return min(sizes, key=lambda size: (sum(-count % size for count in counts), -size))


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
