"""What a pasted text says about itself, and what programs say in it."""

from __future__ import annotations

from typing import Literal

from gpudiag.model.terms import Number, Struct


class MemoryHolder(Struct):
    """Another process that a message names; the driver may not tell how much it holds."""

    pid: int
    memory_used_bytes: int | None = None


class OutOfMemory(Struct):
    """A program's own message that it got no more GPU memory; every size is the message's.

    The parts lie inside each other, never beside: private pools in what is allocated; that, with what is
    unallocated, in what is reserved; that in what the process holds.
    """

    allocator: str  # cuda, hip, xpu: PyTorch's; jax, tensorflow, tensorrt, ggml
    asked_bytes: int
    device: int | None = None  # as the program counts its GPUs: not the driver's index
    rank: int | None = None
    pid: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allowed_bytes: int | None = None  # a limit that the program set itself
    process_bytes: int | None = None
    reserved_bytes: int | None = None  # older wordings tell this, newer ones what is unallocated in it
    allocated_bytes: int | None = None
    private_pool_bytes: int | None = None
    unallocated_bytes: int | None = None
    others: list[MemoryHolder] | None = None
    setting: str | None = None  # what the allocator of that version takes against fragmentation
    count: int = 1  # messages of this process and GPU in the text; this is the last


class CacheShortage(Struct):
    """An inference engine's own message that its KV cache has no room, so that it does not start."""

    engine: str
    reason: str  # no_room, too_long, not_free
    model_len: int | None = None  # the longest request it was told to take
    longest_len: int | None = None  # the longest that would fit
    needed_bytes: int | None = None  # for one request of that length
    available_bytes: int | None = None  # left for the cache; below zero where weights and the rest take more
    free_bytes: int | None = None  # of the GPU, as it started
    total_bytes: int | None = None
    wanted_bytes: int | None = None
    wanted_ratio: Number | None = None


class FailedTest(Struct):
    """A test of GPUs that failed by its own words: `dcgmi diag`, gpu-burn."""

    tool: str
    test: str
    gpus: list[int] | None = None  # as the tool counts them; None where it does not say
    reason: str | None = None  # its own words


class PasteReading(Struct):
    """What a pasted text says about itself."""

    formats: list[str]
    samples: int = 1
    gpus_announced: int | None = None
    gpus_whole: int = 0
    gpus_cut: int = 0
    by_place: bool | None = None  # numbers are places in the text: of some GPUs only, not the driver's
    # listed, none (said so), empty (no such words), not_supported, cut, absent
    process_list: str | None = None
    loose_utilization_percent: list[Number] | None = None  # of rows whose GPU is cut off
    missing: list[str] | None = None  # what is cut or not there: see MissingPart
    errors: list[str] | None = None  # kinds of error lines: library_mismatch, no_devices, unknown_error, …
    error_lines: list[str] | None = None
    hints: list[str] | None = None  # container, out_of_memory, aborted, hung, wsl, jetson, ended …
    out_of_memory: list[OutOfMemory] | None = None
    cache_shortages: list[CacheShortage] | None = None
    failed_tests: list[FailedTest] | None = None
    machine: str | None = None  # where the text shows several: whose output this is
    machines: int | None = None  # and how many there are
    broken_machines: list[str] | None = None  # of the others: the worst first, then those not reached


MissingPart = Literal[
    "gpus",  # rows or blocks of GPUs end in the middle
    "fewer",  # fewer GPUs than the text announces
    "processes",  # the process part ends in the middle
    "gpu_part",  # processes without the GPUs they are on
    "header",  # rows without the lines above them
    "gpu_line",  # a section without the line that names its GPU
    "columns",  # cells without the names of their columns
    "document",  # the document ends before its end
    "row",  # a row has more or fewer cells than its header
    "joined",  # lines were run together and cannot be told apart
    "shortened",  # the author left something out: [...]
    "long",  # more than is read: only the beginning and the end were
    "other_machine",  # another machine's output, which is not judged here
    "other_list",  # another list without a host's name or a time: of another machine or another moment
    "state",  # a list of GPUs or links, which never tells how they are
    "programs",  # a list of programs alone, which does not tell how the GPUs are either
    "accounted",  # a list of programs that may have ended
    "version",  # the versions of the driver alone
]
