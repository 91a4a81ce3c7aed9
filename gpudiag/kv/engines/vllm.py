"""vLLM: layers of one kind form groups, all groups draw blocks of one size from one pool.

Read from the released wheels 0.9 to 0.33 (`v1/core/kv_cache_utils.py`, later `kv_cache_planning.py`,
`v1/kv_cache_interface.py`, `platforms/interface.py`, `v1/worker/gpu_worker.py`, `config/`) and compared
with start logs.
"""

from __future__ import annotations

import math
from functools import cached_property

from gpudiag.kv.cache import fullest, index_key_rate, partition, rate, state_bytes
from gpudiag.kv.engines.base import GIB, Budget, Engine
from gpudiag.kv.engines.compressed import BLOCK as COMPRESSED_BLOCK
from gpudiag.kv.engines.compressed import compressed_plan
from gpudiag.kv.engines.plan import Group, Plan
from gpudiag.kv.layers import Attention, CompressedLatent, CrossAttention, Latent, Part, State
from gpudiag.kv.note import Note, note
from gpudiag.kv.traits.recurrent import N_GRAMS

BLOCK = 16
LATENT_BLOCK = 64
TWO_BATCHES_SINCE = (0, 26)  # pull request 47728: a window keeps what async scheduling has in flight
SECOND_RUNNER_SINCE = (0, 29)  # for all models; its pipelines have one batch more in flight than stages
GRAPHS_BEFORE_POOL_SINCE = (0, 21)
TOKENS_BY_CONCURRENCY_SINCE = (0, 20, 1)
# Copies of the dummy logits, as f32, at the sampler's peak: 0.16 took 5.64 GiB for Qwen3-14B, 0.17 2.23.
LOGITS, SORTED_LOGITS = 3.74, 9.49
UNSORTED_SINCE = (0, 17)
FLASHINFER_BEFORE = (0, 12)
UTILIZATION_092_SINCE = (0, 20)
PREFIXES_OF_HYBRIDS_SINCE = (0, 28)  # pull request 50991; before, only with --enable-prefix-caching
# Designs whose prefill hands one more state out from within, by the version that began; those of DeltaNet and
# of Kimi K3 do so on Hopper and Blackwell.
CHECKPOINTS_SINCE = {"mamba2": (0, 32), "gated delta": (0, 33), "kda": (0, 32)}
WITHOUT_CHECKPOINTS = ("KimiLinear",)
HYBRID_LATENT_128_SINCE = (0, 27)
BIG_GPU = 70 * GIB
WITHOUT_NVLINK = ["A2", "A10", "A10G", "A40", "GTX", "L4", "L20", "L40", "L40S", "P40", "RTX", "T4", "TITAN"]
LARGE_GPU = 160 * GIB


class Vllm(Engine):
    name = "vllm"
    unit = "block"

    @property
    def default_utilization(self) -> float:  # type: ignore[override]
        version = self.setup.version
        return 0.92 if version is None or version >= UTILIZATION_092_SINCE else 0.9

    # Allocation

    @cached_property
    def plan(self) -> Plan:
        distinct = list(dict.fromkeys(part for stage in self.stages for part, _ in stage.parts))
        if len({_kind(part) for part in distinct}) <= 1:
            return self._uniform(distinct)
        return self._grouped()

    def _uniform(self, parts: list[Part]) -> Plan:
        """One group holds every layer; a block is the sum of their pages, whatever their widths."""
        part = parts[0]
        if isinstance(part, State):
            stage = fullest(self.stages, self.storage, 1)
            return Plan(stage.fixed_bytes(self.storage, 1), (Group(1, state=1),))
        if isinstance(part, CompressedLatent):
            return self._compressed()
        size = self._block_size(parts)
        stage = fullest(self.stages, self.storage, size)
        per_token = sum(count * rate(one, self.storage) for one, count in stage.parts)
        return Plan(per_token * size, (self._group(part, size),))

    def _compressed(self) -> Plan:
        block = self.setup.block_size or COMPRESSED_BLOCK
        stage = fullest(self.stages, self.storage, block)
        parts = [(part, count) for part, count in stage.parts if isinstance(part, CompressedLatent)]
        return compressed_plan(parts, block, self.setup.version)

    def _grouped(self) -> Plan:
        """Groups of equally many layers and equal pages, so that any group can take any block."""
        counts: dict[object, int] = {}
        parts: dict[object, Part] = {}
        for stage in self.stages:
            for part, count in stage.parts:
                spec = self._spec(part)
                counts[spec] = counts.get(spec, 0) + count
                parts.setdefault(spec, part)
        base, page = self._pages(list(parts.values()))
        size = _layers_per_group([count for spec, count in counts.items() if not _rides(parts[spec])])
        groups: list[Group] = []
        numbers = {spec: -(-count // size) for spec, count in counts.items()}
        for spec, number in numbers.items():
            tokens = self._tokens_per_page(parts[spec], page, base)
            groups += [self._group(parts[spec], tokens)] * number
        if any(getattr(part, "index_pool", 1) > 1 for part in parts.values()):
            groups.append(Group(base, positions=1))  # raw keys of the tokens that are not pooled yet
        longest = max(-(-count // numbers[spec]) for spec, count in counts.items())
        if len(self.stages) > 1:
            longest = self._most_on_a_stage(numbers)
        return Plan(longest * page, tuple(groups))

    def _spec(self, part: Part) -> object:
        """What makes two layers interchangeable to the planner: kind, window and page."""
        return (_kind(part), rate(part, self.storage), state_bytes(part, self.storage))

    def _pages(self, parts: list[Part]) -> tuple[int, int]:
        """(tokens per attention block, bytes of a page). A state page is padded to an attention page."""
        growing = [part for part in parts if not isinstance(part, (State, CrossAttention))]
        rates = [rate(part, self.storage) for part in growing]
        states = [state_bytes(part, self.storage) for part in parts if isinstance(part, State)]
        asked = self.setup.block_size or BLOCK
        if not states:
            return asked, max(rates) * asked if rates else asked
        if not rates:
            return asked, max(states)
        unit = max(asked, self._beside_states() if any(isinstance(part, Latent) for part in parts) else BLOCK)
        keys = [one - _index_rate(part) for part, one in zip(growing, rates, strict=True)]
        needed = unit * -(-max(states) // (unit * max(keys)))
        tokens = max(asked, needed)
        return tokens, tokens * max(rates)

    def _beside_states(self) -> int:
        """What a block of latent rows is a multiple of where there are states too."""
        version = self.setup.version
        return 128 if version is None or version >= HYBRID_LATENT_128_SINCE else LATENT_BLOCK

    def _tokens_per_page(self, part: Part, page: int, base: int) -> int:
        """A narrower layer packs more tokens into the common page; one that does not divide it is padded."""
        if isinstance(part, (State, CrossAttention)):
            return base
        own = base * rate(part, self.storage)
        return base if page % own else page // own * base

    def _group(self, part: Part, tokens: int) -> Group:
        if isinstance(part, State):
            return Group(tokens, state=self._states_kept(part))
        if isinstance(part, CrossAttention):
            return Group(tokens, positions=part.positions)
        if isinstance(part, Attention) and part.window is not None:
            return Group(tokens, window=part.window, chunked=part.chunked)
        return Group(tokens)

    def _states_kept(self, part: State) -> int:
        """With "align" prefix caching, the default: the running state and the one it was copied from.

        Some designs export one more from within a prefill.
        """
        if self.setup.prefix_caching is False:
            return 1
        version, since = self.setup.version, CHECKPOINTS_SINCE.get(part.design)
        if any(name.startswith(WITHOUT_CHECKPOINTS) for name in self.shape.architectures):
            since = None
        exports = version is not None and since is not None and version >= since
        return 3 if exports else 2

    def _most_on_a_stage(self, numbers: dict[object, int]) -> int:
        """Layers of the largest group on the stage that has most of them; groups take layers in turn."""
        dealt: dict[object, list[int]] = {}
        for index, parts in enumerate(self.shape.layers):
            for part in parts:
                dealt.setdefault(self._spec(part), []).append(index)
        members = [
            dealt.get(spec, [])[first::number] for spec, number in numbers.items() for first in range(number)
        ]
        most, first = 1, 0
        for size in partition(len(self.shape.layers), self.setup.pp):
            last = first + size
            most = max(most, *(sum(first <= index < last for index in group) for group in members))
            first = last
        return most

    def _block_size(self, parts: list[Part]) -> int:
        if self.setup.block_size:
            return self.setup.block_size
        latent = any(isinstance(part, Latent) and part.index_dim for part in parts)
        return LATENT_BLOCK if latent else BLOCK

    @property
    def in_flight(self) -> int:
        """Tokens of a window layer that may be scheduled but not yet freed."""
        version = self.setup.version
        if version is None or version < TWO_BATCHES_SINCE:
            return self.batched_tokens
        stages = self.setup.pp
        plain = not self.setup.experts and not any(isinstance(part, State) for part in self.shape.parts())
        second = plain or version >= SECOND_RUNNER_SINCE  # dense models had the second runner from the start
        return self.batched_tokens * (stages + 1 if second else max(2, stages))

    @property
    def batched_tokens(self) -> int:
        """max_num_batched_tokens: as given, else the API server's default for this GPU."""
        if self.setup.max_num_batched_tokens:
            return self.setup.max_num_batched_tokens
        gpu = self.setup.gpu_bytes
        if gpu is not None and gpu >= LARGE_GPU:
            return 16384
        return 8192 if self._big_defaults else 2048

    @property
    def sequences(self) -> int:
        """max_num_seqs: as given, else the default for this GPU."""
        return self.setup.max_num_seqs or (1024 if self._big_defaults else 256)

    @property
    def _big_defaults(self) -> bool:
        """GPUs of 70 GiB and more get larger defaults, but for the A100 and the GB10 (DGX Spark)."""
        gpu, name = self.setup.gpu_bytes, self.setup.gpu_name or ""
        return gpu is None or (gpu >= BIG_GPU and not name.startswith(("A100", "GB10")))

    @property
    def unit_bytes(self) -> int:
        return self.plan.block_bytes

    def units(self, tokens: int) -> int:
        return sum(self._blocks(group, tokens) for group in self.plan.groups)

    def _blocks(self, group: Group, tokens: int) -> int:
        if group.state:
            return group.state + self.setup.speculative
        if group.positions:
            return -(-group.positions // group.tokens)
        if group.window is None:
            return -(-tokens // (group.tokens * self.setup.dcp))
        if group.chunked:
            return -(-min(group.window + self.in_flight, tokens) // group.tokens)
        return -(-min(group.window - 1 + self.in_flight, tokens) // group.tokens) + 1

    def concurrency(self, pool: int, length: int) -> float | None:
        """As vLLM prints it: before 0.27 it counts what the groups of DeepSeek V4 fill of their blocks."""
        printed = self.plan.printed
        if not printed:
            return super().concurrency(pool, length)
        filled = sum(
            size * self._blocks(group, length) for size, group in zip(printed, self.plan.groups, strict=True)
        )
        return self.pool_units(pool) / -(-filled // printed[0])

    def fixed_bytes(self, tokens: int) -> int:
        """Blocks of states and of the encoder, and of windows once they are full."""
        blocks = sum(
            self._blocks(group, tokens)
            for group in self.plan.groups
            if group.state or group.positions or (group.window is not None and tokens > group.window)
        )
        return blocks * self.unit_bytes

    def pool_blocks(self, pool: int) -> int:
        return self.pool_units(pool)

    def pool_tokens(self, pool: int, length: int) -> int:
        """One kind of layer: blocks × block size. Several: what requests of `length` can use.

        From 0.20.1 on vLLM's own log line follows the second rule for window layers too.
        """
        groups, version = self.plan.groups, self.setup.version
        by_length = version is not None and version >= TOKENS_BY_CONCURRENCY_SINCE
        if len(groups) == 1 and not groups[0].state and not (by_length and groups[0].window):
            return self.pool_blocks(pool) * groups[0].tokens * self.setup.dcp
        return int((self.concurrency(pool, length) or 0.0) * length)

    # Budget

    def budget(self) -> Budget:
        setup = self.setup
        shown = setup.shown_bytes
        if shown is None:
            return Budget(pool_bytes=setup.pool_bytes)
        share = setup.gpu_memory_utilization or self.default_utilization
        requested = math.ceil(shown * share)
        low, activation, high = self._activation()
        outside, graphs = self._non_torch(), GIB
        before = setup.version is None or setup.version >= GRAPHS_BEFORE_POOL_SINCE
        pool = setup.pool_bytes
        if pool is None and setup.weights_bytes is not None:
            pool = requested - setup.weights_bytes - activation - outside - (graphs if before else 0)
        notes = [note("vllm-ceiling", share=share, total=shown / GIB), note("vllm-activation")]
        if setup.max_num_seqs is None or setup.max_num_batched_tokens is None:
            notes.append(note("vllm-defaults", sequences=self.sequences, tokens=self.batched_tokens))
        if not before:
            notes.append(note("vllm-graphs-on-top"))
        if self._saved_by_flashinfer:
            notes.append(note("vllm-sampler", saved=self._saved_by_flashinfer / GIB))
        return Budget(requested, activation, (low, high), outside, graphs, pool, notes=tuple(notes))

    def _activation(self) -> tuple[int, int, int]:
        """Low, likely and high peak: the sampler's dummy logits plus the widest hidden states."""
        logits = self.sequences * self.shape.vocabulary * 4
        states = 1.82 * self.batched_tokens * self.shape.hidden * 2
        experts = 0.5 * GIB if self.setup.experts else 0.0
        likely = int((SORTED_LOGITS if self._sorts else LOGITS) * logits + states + experts)
        low = likely - self._saved_by_flashinfer - GIB // 8
        return max(0, low), likely, likely + int(0.7 * GIB)

    @property
    def _sorts(self) -> bool:
        """Whether the sampler sorts the logits, which it did before it had a Triton kernel."""
        return self.setup.version is not None and self.setup.version < UNSORTED_SINCE

    @property
    def _saved_by_flashinfer(self) -> int:
        """What older versions do not take where FlashInfer is installed, whose sampler they prefer."""
        if self.setup.version is None or self.setup.version >= FLASHINFER_BEFORE:
            return 0
        return int((SORTED_LOGITS - LOGITS) * self.sequences * self.shape.vocabulary * 4)

    def _non_torch(self) -> int:
        """NCCL and driver context beyond torch, measured on H100 with vLLM 0.19.

        NCCL allocates little where no NVLink is: logs of two, four and sixteen 3090s or 4090s.
        """
        if self.setup.pp > 1 and self.setup.tp == 1:
            return int(0.07 * GIB)
        if self.setup.tp > 1 and (self.setup.gpu_name or "").split("-")[0] in WITHOUT_NVLINK:
            return int(0.4 * GIB)
        by_tp = {1: 0.25, 2: 2.07}
        return int(by_tp.get(self.setup.tp, 2.17) * GIB)

    def _on_states(self, kept: int) -> Note:
        version, asked = self.setup.version, self.setup.prefix_caching
        if asked is None and version is not None and version < PREFIXES_OF_HYBRIDS_SINCE:
            return note("vllm-state-asked", kept=kept)
        return note("vllm-state-alone" if asked is False else "vllm-state-blocks", kept=kept)

    def notes(self, tokens: int) -> list[Note]:
        found = []
        groups = self.plan.groups
        if len(groups) > 1:
            found.append(note("vllm-groups", groups=len(groups), block=self.plan.block_bytes))
        if any(group.window is not None for group in groups):
            found.append(note("vllm-in-flight", tokens=self.in_flight))
        if len(groups) > 1 and any(group.state for group in groups):
            found.append(self._on_states(max(group.state for group in groups)))
        return found


def _layers_per_group(counts: list[int]) -> int:
    most, least = max(counts), min(counts)
    return most if most < 1.5 * least else least


def _rides(part: Part) -> bool:
    """Whether so few layers keep this that others decide how large a group is."""
    return isinstance(part, State) and part.design == N_GRAMS


def _index_rate(part: Part) -> int:
    return index_key_rate(part) if isinstance(part, Attention) and part.index_pool > 1 else 0


def _kind(part: Part) -> tuple[object, ...]:
    """The planner's type of a layer; layers of one type need no common page size."""
    if isinstance(part, State):
        return ("state",)
    if isinstance(part, CrossAttention):
        return ("cross",)
    if isinstance(part, Attention) and part.window is not None:
        return ("chunked" if part.chunked else "window", part.window)
    return ("full",)
