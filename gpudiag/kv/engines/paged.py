"""Engines that take a share of the memory that the loaded weights leave free, and cut it into blocks."""

from __future__ import annotations

from gpudiag.kv.engines.base import GIB, Budget, Engine
from gpudiag.kv.note import Note, note

CONTEXT = GIB // 2  # driver context of a process, usually 0.3 to 0.6 GiB


class PagedEngine(Engine):
    """Subclasses say `tokens_per_block`, `default_utilization` and which `rule` (a note) applies.

    All layers share one table of blocks, so a window layer keeps as many tokens as the others do:
    TensorRT-LLM prints 8,224 tokens in 0.56 GiB for gpt-oss-120b, 36 layers at full length.
    """

    unit = "block"
    tokens_per_block = 16
    rule = "share-of-free"

    @property
    def block(self) -> int:
        return self.setup.block_size or self.tokens_per_block

    @property
    def cuts_windows(self) -> bool:
        return False

    def units(self, tokens: int) -> int:
        """Bytes of whole blocks for everything that grows, and the fixed part as it is."""
        stage = self.stage(tokens)
        rounded = -(-tokens // self.block) * self.block
        return stage.sequence_bytes(self.storage, rounded)

    def pool_blocks(self, pool: int) -> int | None:
        per_token = self.bytes_per_token(2**20)
        return max(0, pool) // (per_token * self.block) if per_token else None

    def pool_tokens(self, pool: int, length: int) -> int | None:
        per_token = self.bytes_per_token(length)
        return max(0, pool) // (per_token * self.block) * self.block if per_token else None

    def budget(self) -> Budget:
        setup = self.setup
        if setup.gpu_bytes is None or setup.weights_bytes is None:
            return Budget(pool_bytes=setup.pool_bytes)
        share = setup.gpu_memory_utilization or self.default_utilization or 0.9
        outside = CONTEXT + setup.gpu_reserved_bytes
        free = setup.gpu_bytes - setup.weights_bytes - outside
        room = self._room(free, share, setup.gpu_bytes - setup.gpu_reserved_bytes)
        pool = setup.pool_bytes if setup.pool_bytes is not None else room
        said = note(self.rule, share=share, engine=self.name)
        return Budget(None, free - room, None, outside, None, pool, notes=(said,))

    def _room(self, free: int, share: float, total: int) -> int:
        return int(free * share) if free > 0 else free

    def notes(self, tokens: int) -> list[Note]:
        return [note("paged-full", engine=self.name)] if self.has_windows else []
