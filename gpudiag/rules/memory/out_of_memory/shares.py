"""Whose the memory was when an allocation failed, from the sizes of the message alone.

Parts lie inside the whole that contains them and are never added to it: tensors in what PyTorch reserves,
that in what the program holds, and all of it in what is not free.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiag.model import MemoryHolder, OutOfMemory

ROUNDING_BYTES = 64 << 20  # a message has two decimals of a GiB; several are added up


@dataclass(frozen=True, slots=True)
class Shares:
    """What holds the memory; None where the message does not tell."""

    process_bytes: int | None  # all of the program that failed
    reserved_bytes: int | None  # in it, by PyTorch
    unallocated_bytes: int | None  # in that, and not in use
    held_bytes: int | None  # what the program is known to hold: as much of it as the message tells
    beside_bytes: int | None  # in it, beside PyTorch
    others: tuple[MemoryHolder, ...]
    others_bytes: int | None  # of those whose size is told, where none of them may be the program itself
    unnamed_bytes: int | None  # neither free nor told whose
    more_than_all: bool  # the parts are more than the GPU has


def shares_of(failure: OutOfMemory) -> Shares:
    """The shares that a message tells, and those that follow from it."""
    total, free, allocated = failure.total_bytes, failure.free_bytes, failure.allocated_bytes
    reserved, unallocated = failure.reserved_bytes, failure.unallocated_bytes
    if allocated is not None:
        if reserved is None and unallocated is not None:
            reserved = allocated + unallocated
        elif unallocated is None and reserved is not None:
            unallocated = _positive(reserved - allocated)
    used = None if total is None or free is None else total - free
    process, others = failure.process_bytes, tuple(failure.others or ())
    unclear = False
    if process is None:
        candidates = [other for other in others if _may_be_itself(other, reserved)]
        itself = _itself(candidates, used, reserved)
        unclear = bool(candidates) and itself is None
        if itself is not None:
            process = itself.memory_used_bytes
            others = tuple(other for other in others if other is not itself)
    known = [other.memory_used_bytes for other in others if other.memory_used_bytes is not None]
    others_bytes = sum(known) if known and not unclear else None
    held = next((size for size in (process, reserved, allocated) if size is not None), None)
    unnamed = None if used is None or held is None else used - held - (others_bytes or 0)
    too_much = (unnamed is not None and unnamed < -ROUNDING_BYTES) or (used is not None and used < 0)
    return Shares(
        process_bytes=process,
        reserved_bytes=reserved,
        unallocated_bytes=unallocated,
        held_bytes=held,
        beside_bytes=None if process is None or reserved is None else _positive(process - reserved),
        others=others,
        others_bytes=others_bytes,
        unnamed_bytes=None if unnamed is None else _positive(unnamed),
        more_than_all=too_much,
    )


def _may_be_itself(other: MemoryHolder, reserved: int | None) -> bool:
    """Whether a process that the driver names may be the program: it holds at least what PyTorch reserves.

    In a container the driver knows the program by the host's pid, and PyTorch takes it for another one.
    """
    if other.memory_used_bytes is None or reserved is None:
        return False
    return other.memory_used_bytes >= reserved - ROUNDING_BYTES


def _itself(candidates: list[MemoryHolder], used: int | None, reserved: int | None) -> MemoryHolder | None:
    """The one beside which there is no room for what PyTorch reserves: the program itself."""
    if used is None or reserved is None:
        return None
    sure = [one for one in candidates if used - (one.memory_used_bytes or 0) < reserved - ROUNDING_BYTES]
    return sure[0] if len(sure) == 1 else None


def _positive(size: int) -> int | None:
    """A difference, which rounding may take below zero; None where it is no rounding."""
    return max(0, size) if size >= -ROUNDING_BYTES else None
