"""llama.cpp: cells for the whole context are allocated when the model loads, filled or not."""

from __future__ import annotations

from functools import cached_property

from gpudiag.kv.cache import Stage, Storage, if_every_head_had_its_own, rate, state_bytes, window_of
from gpudiag.kv.engines.base import GIB, Budget, Engine, bisect
from gpudiag.kv.layers import Attention, Latent
from gpudiag.kv.note import Note, note

CELLS = 256  # contexts are rounded up to this many cells
MICRO_BATCH = 512
MOST_SLOTS = 1_000_000


class LlamaCpp(Engine):
    """`tokens` is one slot's share; `requests` slots share tokens × requests cells."""

    name = "llama.cpp"
    state_float32 = True

    @cached_property
    def storage(self) -> Storage:
        return Storage(
            dtype=self.setup.dtype,
            tp=self.setup.tp,
            state_float32=True,
            speculative=self.setup.speculative,
        )

    @property
    def cuts_windows(self) -> bool:
        """Only beside full layers: Mistral 0.1, Phi-3 and StarCoder 2 keep every token."""
        return any(isinstance(part, Attention) and part.window is None for part in self.shape.parts())

    @property
    def micro_batch(self) -> int:
        """Tokens of one step (`--ubatch-size`), for which a window has room beside its own cells."""
        return self.setup.max_num_batched_tokens or MICRO_BATCH

    @property
    def copies(self) -> int:
        """States kept per sequence: one, and one to roll back to per draft token."""
        return 1 + self.setup.speculative

    def total_bytes(self, tokens: int, requests: int) -> int:
        """All slots. Unified, they share the cells of a window as well, with one micro batch beside them."""
        if not self.setup.unified:
            return super().total_bytes(tokens, requests)
        stage, cells = self.stage(tokens), _padded(tokens * requests)
        total = requests * self.copies * sum(n * state_bytes(part, self.storage) for part, n in stage.parts)
        for part, count in stage.parts:
            window = window_of(part)
            kept = cells if window is None else _padded(min(cells, window * requests + self.micro_batch))
            total += count * rate(part, self.storage) * kept
        return total

    def largest_batch(self, budget: Budget, tokens: int) -> int | None:
        pool = budget.pool_bytes
        if pool is None or not self.setup.unified:
            return super().largest_batch(budget, tokens)
        return bisect(lambda requests: self.total_bytes(tokens, requests) <= pool, MOST_SLOTS)

    def units(self, tokens: int) -> int:
        return self._growing(self.stage(tokens), tokens) + self.fixed_bytes(tokens)

    def fixed_bytes(self, tokens: int) -> int:
        stage = self.stage(tokens)
        states = sum(count * state_bytes(part, self.storage) for part, count in stage.parts)
        windows = sum(
            count * rate(part, self.storage) * self._window_cells(window, tokens)
            for part, count in stage.parts
            if (window := window_of(part)) is not None and tokens > window
        )
        return states * self.copies + windows

    def _growing(self, stage: Stage, tokens: int) -> int:
        cells = _padded(tokens)
        return sum(
            count * rate(part, self.storage) * cells
            for part, count in stage.parts
            if (window := window_of(part)) is None or tokens <= window
        )

    def _window_cells(self, window: int, tokens: int) -> int:
        return _padded(min(_padded(tokens), window + self.micro_batch))

    def budget(self) -> Budget:
        setup = self.setup
        if setup.gpu_bytes is None:
            return Budget(pool_bytes=setup.pool_bytes)
        compute, outside = self._compute_buffer(), GIB // 2 + setup.gpu_reserved_bytes
        pool = setup.pool_bytes
        if pool is None and setup.weights_bytes is not None:
            pool = setup.gpu_bytes - setup.weights_bytes - compute - outside
        limits = (GIB // 8, 8 * GIB)
        return Budget(setup.gpu_bytes, compute, limits, outside, None, pool, notes=(note("llama-room"),))

    def _compute_buffer(self) -> int:
        """Logits of a micro batch in f32 and a few hidden states."""
        return self.micro_batch * (self.shape.vocabulary * 4 + 16 * self.shape.hidden * 4)

    def notes(self, tokens: int) -> list[Note]:
        found = [note("llama-cells", cells=_padded(tokens), step=CELLS)]
        parts = [part for part, _ in self.stage(tokens).parts]
        if any(window_of(part) for part in parts):
            found.append(note("llama-window", batch=self.micro_batch))
        if self.name == LlamaCpp.name and self.setup.unified is None and self.fixed_bytes(2**30):
            found.append(note("llama-slots"))
        if any(isinstance(part, Latent) for part in parts):
            expanded = if_every_head_had_its_own(self.stage(tokens).parts, self.storage)
            found.append(note("llama-expanded", bytes=expanded))
        if self.has_windows and not self.cuts_windows:
            found.append(note("llama-window-off"))
        if self.setup.speculative:
            found.append(note("llama-copies", copies=self.copies))
        return found


def _padded(cells: int) -> int:
    return -(-cells // CELLS) * CELLS
