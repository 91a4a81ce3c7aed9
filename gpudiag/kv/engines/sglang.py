"""SGLang: a token pool, a second one for window layers, and slots for recurrent states.

Read from the 0.5.23 wheel (`mem_cache/kv_cache_configurator.py`, `model_executor/pool_configurator.py`,
`arg_groups/memory_hook.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

from gpudiag.kv.cache import Storage, indexer_rate, rate, state_bytes, window_of
from gpudiag.kv.engines.base import GIB, Budget, Engine
from gpudiag.kv.layers import Latent, Part
from gpudiag.kv.note import Note, note

# Architectures whose window layers get a pool of their own; all others keep full length there.
TWO_POOLS = (
    "Llama4",
    "GptOss",
    "MiMoV2",
    "Step3p",
    "Gemma4",
    "Laguna",
    "Mellum",
    "MuseGlimmer",
    "GraniteSWA",
)
BIG_GPU = 70 * GIB  # cards of this size talk over NVLink, whose buffers NCCL allocates at once
WINDOW_SHARE = 0.8  # swa_full_tokens_ratio
STATE_TO_TOKENS = 0.9  # mamba_full_memory_ratio
STATES_PER_REQUEST = 3  # running, and what the radix cache keeps


class Sglang(Engine):
    name = "sglang"
    unit = "token"

    @cached_property
    def storage(self) -> Storage:
        """Recurrent matrices are f32 unless the config names a dtype (`configs/mamba_utils.py`)."""
        return super().storage._replace(matrix_dtype="f32")

    @property
    def two_pools(self) -> bool:
        return any(name.startswith(TWO_POOLS) for name in self.shape.architectures)

    @property
    def cuts_windows(self) -> bool:
        return self.two_pools

    @property
    def page(self) -> int:
        return self.setup.block_size or 1

    def cell(self) -> tuple[int, int]:
        """(bytes per token of full layers, of window layers) on the fullest stage."""
        stage = self.stage(2**20)
        full = sum(n * self._cell(part) for part, n in stage.parts if window_of(part) is None)
        window = sum(n * self._cell(part) for part, n in stage.parts if window_of(part) is not None)
        return full + self._copied(), window

    def _cell(self, part: Part) -> int:
        """Bytes on one GPU for one of its own tokens; with dcp it keeps every dcp-th of a sequence.

        Each group of dcp GPUs holds the heads of one of tp ÷ dcp; an index key is kept on all of them.
        """
        storage, dcp = self.storage, self.setup.dcp
        if isinstance(part, Latent):
            index = indexer_rate(part.index_dim, part.index_pool)
            return rate(part, storage) + (dcp - 1) * index
        return rate(part, storage._replace(tp=max(1, storage.tp // dcp)))

    def _copied(self) -> int:
        """Draft layers are not divided by dcp: each GPU keeps all of a sequence."""
        drafts = self.shape.draft if self.setup.speculative else ()
        own = [replace(part, index_dim=0) if isinstance(part, Latent) else part for part in drafts]
        return (self.setup.dcp - 1) * sum(self._cell(part) for part in own)

    def states(self) -> int:
        return sum(count * state_bytes(part, self.storage) for part, count in self.stage(1).parts)

    def _slot(self) -> int:
        """Bytes on one GPU for each token that it keeps itself."""
        full, window = self.cell()
        return full + round(window * WINDOW_SHARE)

    def bytes_per_token(self, tokens: int) -> int:
        return -(-self._slot() // self.setup.dcp)

    def fixed_bytes(self, tokens: int) -> int:
        return self.states()

    def units(self, tokens: int) -> int:
        return self._aligned(tokens) // self.setup.dcp * self._slot() + self.states()

    def _aligned(self, tokens: int) -> int:
        page = self.page * self.setup.dcp
        return -(-tokens // page) * page

    def pool_tokens(self, pool: int, length: int) -> int | None:
        slot = self._slot()
        if not slot:
            return None
        return max(0, pool) // slot // self.page * self.page * self.setup.dcp

    def concurrency(self, pool: int, length: int) -> float | None:
        tokens = self.pool_tokens(pool, length)
        return None if tokens is None else tokens / self._aligned(length)

    def largest_batch(self, budget: Budget, tokens: int) -> int | None:
        if budget.pool_bytes is None:
            return None
        held = self.pool_tokens(budget.pool_bytes, tokens)
        by_tokens = None if held is None else held // self._aligned(tokens)
        states = self.states()
        if not states or budget.state_pool_bytes is None:
            return by_tokens
        by_states = max(0, budget.state_pool_bytes) // (states * STATES_PER_REQUEST)
        return by_states if by_tokens is None else min(by_tokens, by_states)

    def over_capacity(self, budget: Budget, tokens: int, requests: int) -> int | None:
        """What the scarcer of the two pools lacks; one cannot lend to the other."""
        if budget.pool_bytes is None:
            return None
        growing = requests * (self.units(tokens) - self.states()) - budget.pool_bytes
        if budget.state_pool_bytes is None:
            return growing
        return max(growing, requests * self.states() * STATES_PER_REQUEST - budget.state_pool_bytes)

    def budget(self) -> Budget:
        setup = self.setup
        if setup.gpu_bytes is None or setup.weights_bytes is None:
            return Budget(pool_bytes=setup.pool_bytes)
        share = setup.gpu_memory_utilization or self._static_fraction(setup.gpu_bytes)
        gone = setup.gpu_reserved_bytes + self._before_loading(setup.gpu_bytes)
        before = max(0, setup.gpu_bytes - gone)
        requested = math.ceil(before * share)
        room = requested - setup.weights_bytes
        state_pool = None
        if self.states():
            state_pool = int(room * STATE_TO_TOKENS / (1 + STATE_TO_TOKENS))
        pool = setup.pool_bytes
        if pool is None:
            pool = room - (state_pool or 0)
        rest = before - requested
        said = note("sglang-fraction", share=share, rest=rest / GIB)
        outside = setup.gpu_bytes - before
        return Budget(requested, rest, None, outside, None, pool, state_pool, notes=(said,))

    def _before_loading(self, total: int) -> int:
        """What is gone before weights are loaded: the share is taken of what is free then.

        It comes on top of what the driver keeps.
        Start logs: 0.6 GiB on an RTX 4090 (also with tp 2), 0.75 on one H100, 2.2 on four.
        """
        linked = self.setup.tp > 1 and total >= BIG_GPU
        return int((2.2 if linked else 0.7) * GIB)

    def _static_fraction(self, total: int) -> float:
        """SGLang's automatic mem_fraction_static, from its reserve in MiB."""
        mib = total / 2**20
        prefill = 2048 if mib < 35 * 1024 else 4096 if mib < 60 * 1024 else 8192
        batch = 160 if mib < 60 * 1024 else 256 if mib < 90 * 1024 else 512
        reserve = 512 + 1.5 * prefill + self.setup.tp * self.setup.pp / 8 * 1024 + 2 * batch
        if self.setup.attn_dp > 1:
            reserve += batch * self.setup.attn_dp * (4.5 if batch > 300 else 3)
        return max(0.0, round((mib - reserve) / mib, 3))

    def notes(self, tokens: int) -> list[Note]:
        found = []
        if self.has_windows:
            found.append(
                note("sglang-two-pools", share=WINDOW_SHARE) if self.two_pools else note("sglang-full")
            )
        if self.states():
            found.append(note("sglang-states", slots=STATES_PER_REQUEST))
        return found
