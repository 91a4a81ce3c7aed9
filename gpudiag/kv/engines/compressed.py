"""DeepSeek V4 in vLLM: compressed rows, windows and the states of the compressors, packed side by side.

Read from the 0.33 wheel (`models/deepseek_v4`, `_get_packed_kv_cache_groups`). The same pages, padded to
equally many repeats, are what 0.22 printed for V4-Flash: 6.66 GiB for 30,000 tokens, 13,528 in 5.44 GiB.
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


def compressed_plan(parts: Iterable[tuple[CompressedLatent, int]], block: int, padded: bool) -> Plan:
    """`parts` with their counts on one stage. `padded`: as before pages were packed by their own counts."""
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
    if padded:
        size = repeats * (sum(rows.values()) + index_page)
    else:
        size = sum(count * rows[ratio] for ratio, count in states.items()) + states.get(4, 0) * index_page
    groups = [Group(WINDOW_BLOCK, window=window)] * -(-layers // repeats)
    groups += [Group(block)] if states else []
    for ratio, count in states.items():
        tokens, kept = STATES[ratio]
        groups += [Group(tokens, window=kept)] * -(-count // repeats)
    return Plan(max(size, repeats * _aligned(WINDOW_BLOCK * V4_ROW)), tuple(groups))


def _repeats(counts: list[int], least: int) -> int:
    """Layers per group that pad the counts least; the larger of equals."""
    sizes = range(least, max(counts) + 1)
    return min(sizes, key=lambda size: (sum(-count % size for count in counts), -size))


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
