"""What all engines have in common; used as it is, the exact need without any engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from gpudiag.kv.cache import Stage, Storage, fullest, stages, window_of
from gpudiag.kv.dtypes import CacheDtype
from gpudiag.kv.note import Note
from gpudiag.kv.shape import ModelShape

GIB = 2**30


class Setup(NamedTuple):
    """Resolved options of one engine process group; None where neither person nor default says.

    `dcp` GPUs share the tokens of a sequence; `attn_dp` groups of the tp GPUs attend to their own requests.
    """

    dtype: CacheDtype
    version: tuple[int, ...] | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    attn_dp: int = 1
    gpu_bytes: int | None = None
    gpu_reserved_bytes: int = 0
    gpu_name: str | None = None
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    block_size: int | None = None
    speculative: int = 0
    pool_bytes: int | None = None
    weights_bytes: int | None = None
    experts: bool = False
    prefix_caching: bool | None = None
    matrix_dtype: str | None = None
    unified: bool | None = None

    @property
    def shown_bytes(self) -> int | None:
        """What CUDA shows of the GPU: less than nvidia-smi by what the driver keeps."""
        return None if self.gpu_bytes is None else self.gpu_bytes - self.gpu_reserved_bytes

    @property
    def attention_tp(self) -> int:
        """GPUs that share the heads of one request."""
        return self.tp // self.attn_dp

    @property
    def replicas(self) -> int:
        return self.dp * self.attn_dp


class Budget(NamedTuple):
    """Where the memory of one GPU goes. `low` and `high` bound what is only estimated."""

    requested_bytes: int | None = None
    activation_bytes: int | None = None
    activation_range: tuple[int, int] | None = None
    non_torch_bytes: int | None = None
    cuda_graph_bytes: int | None = None
    pool_bytes: int | None = None
    state_pool_bytes: int | None = None
    notes: tuple[Note, ...] = ()


class Engine:
    """The exact need. Subclasses round it and know a budget.

    A *unit* is what the engine hands out: a block, a token's cell, or a single byte.
    """

    name = "none"
    unit = "byte"
    default_utilization: float | None = None
    state_float32 = False

    def __init__(self, shape: ModelShape, setup: Setup, dealt: list[Stage] | None = None) -> None:
        self.shape = shape
        self.setup = setup
        self.dealt = dealt

    @cached_property
    def storage(self) -> Storage:
        return Storage(
            dtype=self.setup.dtype,
            tp=self.setup.attention_tp,
            state_dtype="bf16" if self.shape.dtype == "f32" else self.shape.dtype,
            matrix_asked=self.setup.matrix_dtype,
            state_float32=self.state_float32,
            speculative=self.setup.speculative,
        )

    @property
    def cuts_windows(self) -> bool:
        """Whether window layers stop growing; without that they keep every token, as full ones do."""
        return True

    @property
    def has_windows(self) -> bool:
        return any(window_of(part) is not None for part in self.shape.parts())

    @cached_property
    def stages(self) -> list[Stage]:
        found = self.dealt or stages(self.shape, self.setup.pp, draft=self.setup.speculative > 0)
        return found if self.cuts_windows else [stage.unwindowed() for stage in found]

    def stage(self, tokens: int) -> Stage:
        return self.stages[0] if len(self.stages) == 1 else fullest(self.stages, self.storage, tokens)

    def bytes_per_token(self, tokens: int) -> int:
        return -(-self.stage(tokens).bytes_per_token(self.storage, tokens) // self.setup.dcp)

    def fixed_bytes(self, tokens: int) -> int:
        return self.stage(tokens).fixed_bytes(self.storage, tokens)

    @property
    def unit_bytes(self) -> int:
        return 1

    def units(self, tokens: int) -> int:
        """Units that one sequence of `tokens` takes."""
        return self.stage(tokens).sequence_bytes(self.storage, tokens)

    def request_bytes(self, tokens: int) -> int:
        return self.units(tokens) * self.unit_bytes

    def total_bytes(self, tokens: int, requests: int) -> int:
        """All requests of one replica, on its fullest GPU."""
        return requests * self.request_bytes(tokens)

    def budget(self) -> Budget:
        """Where the GPU's memory goes. Without an engine nothing is known."""
        return Budget(pool_bytes=self.setup.pool_bytes)

    # What a pool of `pool` bytes holds.

    def pool_units(self, pool: int) -> int:
        return max(0, pool) // self.unit_bytes

    def pool_blocks(self, pool: int) -> int | None:
        return None

    def pool_tokens(self, pool: int, length: int) -> int | None:
        """Tokens that the pool holds when all requests are `length` long."""
        per_token = self.bytes_per_token(length)
        return max(0, pool) // per_token if per_token else None

    def concurrency(self, pool: int, length: int) -> float | None:
        """Requests of `length` that fit at the same time; None when nothing grows."""
        return self.pool_units(pool) / self.units(length)

    def largest_batch(self, budget: Budget, tokens: int) -> int | None:
        """Most requests of `tokens` that one replica holds at the same time."""
        if budget.pool_bytes is None:
            return None
        return self.pool_units(budget.pool_bytes) // self.units(tokens)

    def over_capacity(self, budget: Budget, tokens: int, requests: int) -> int | None:
        """Bytes that `requests` need beyond the pool; negative is what stays free."""
        if budget.pool_bytes is None:
            return None
        return self.total_bytes(tokens, requests) - budget.pool_bytes

    def longest_context(self, budget: Budget, requests: int, limit: int) -> int | None:
        """Longest length, up to `limit`, at which `requests` fit; 0 when not even one token does."""
        if budget.pool_bytes is None:
            return None
        return bisect(lambda tokens: self._holds(budget, requests, tokens), limit)

    def _holds(self, budget: Budget, requests: int, tokens: int) -> bool:
        most = self.largest_batch(budget, tokens)
        return most is not None and requests <= most

    def notes(self, tokens: int) -> list[Note]:
        """Remarks on how this engine allocates, with the numbers in them."""
        return []


def bisect(holds: Callable[[int], bool], limit: int) -> int:
    """The largest n ≤ limit with holds(n), when holds is true up to some n and false above."""
    if limit < 1 or not holds(1):
        return 0
    if holds(limit):
        return limit
    low, high = 1, limit
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
