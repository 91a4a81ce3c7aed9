"""How vLLM cuts a cache: groups of layers that share a block table, and the bytes of one block."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """Layers that share a block table. `tokens` per block; `window` limits.

    `state` is how many blocks a recurrent state takes, without drafts; 0 for what grows.
    """

    tokens: int
    window: int | None = None
    chunked: bool = False
    state: int = 0
    positions: int = 0


class Plan(NamedTuple):
    """Bytes of one block over all layers of a group, and the groups, which all draw from one pool.

    `printed`: bytes that each group fills of its block, where vLLM's log counts those instead of blocks.
    """

    block_bytes: int
    groups: tuple[Group, ...]
    printed: tuple[int, ...] = ()
