"""A program's own text says that it got no more GPU memory: what it asked for, and who held the memory."""

from collections.abc import Iterator
from typing import Any

from gpudiag.model import Confidence, Evidence, MemoryHolder, OutOfMemory
from gpudiag.rule import MEMORY, Fires, calculated, measured, rule
from gpudiag.rules.memory.out_of_memory.shares import ROUNDING_BYTES, Shares, shares_of
from gpudiag.window import Window
from gpudiag.words import units

GIB = 1 << 30
TEXT = "pasted text"
MOST_NAMED = 4
PROCESSES = {  # what lists the processes of a GPU, by the allocator's maker
    "hip": "rocm-smi --showpids",
    "xpu": "xpu-smi ps",
}
NVIDIA = "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv"
SURE: dict[str | None, Confidence] = {  # what the sizes prove; the rest is what is most likely
    "fragmented": "possible",
    "unnamed": "possible",
    "free-enough": "possible",
    "more-than-all": "possible",
    "beside": "likely",
}


@rule(severity="warning", rank=MEMORY, confidence="proven", maturity="experimental", given=("pasted",))
def out_of_memory(
    node: Window,
    *,
    min_share: float = 0.10,
    min_unallocated_share: float = 0.05,
    min_free_share: float = 0.05,
    context_bytes: int = GIB,
) -> Iterator[Fires]:
    """A program got no more GPU memory, by its own words."""
    paste = node.latest.paste if node.latest else None
    for failure in (paste.out_of_memory if paste else None) or ():
        shares = shares_of(failure)
        variant = _without_sizes(failure, shares) or _refusal(failure, shares, min_free_share)
        if variant is None:
            total, reserved = failure.total_bytes or 0, shares.reserved_bytes or 0
            variant = _largest(
                {
                    "other-process": (shares.others_bytes, min_share * total),
                    "beside": (shares.beside_bytes, min_share * total + context_bytes),
                    "unnamed": (shares.unnamed_bytes, min_share * total + _context(shares, context_bytes)),
                    "fragmented": (shares.unallocated_bytes, min_unallocated_share * reserved),
                },
                failure.asked_bytes - (failure.free_bytes or 0),
            )
        yield Fires(
            tuple(_evidence(failure, shares)),
            confidence=_sure(variant, failure),
            variant=variant,
            key=f"{failure.allocator}:{failure.rank}:{failure.pid}:{failure.device}",
            words=_words(failure, shares),
        )


def _sure(variant: str | None, failure: OutOfMemory) -> Confidence | None:
    """The wording's own; that a program filled the GPU is not proven while what it asked for was free."""
    if variant is None and failure.asked_bytes <= (failure.free_bytes or 0):
        return "likely"
    return SURE.get(variant)


def _without_sizes(failure: OutOfMemory, shares: Shares) -> str | None:
    """The wording where the text does not tell enough of the GPU to say more."""
    if failure.allocator in ("jax", "tensorflow"):
        return failure.allocator
    held = shares.held_bytes if shares.held_bytes is not None else shares.others_bytes
    unknown = failure.total_bytes is None or failure.free_bytes is None or held is None
    return "asked-only" if unknown else None


def _refusal(failure: OutOfMemory, shares: Shares, min_free_share: float) -> str | None:
    """The wording where it is not what others hold or what lies unused that was lacking.

    The last MiB of a full GPU are free in name: allocators ask the driver for more than a small tensor needs.
    """
    asked, allowed = failure.asked_bytes, failure.allowed_bytes
    free, total = failure.free_bytes or 0, failure.total_bytes or 0
    if asked > total:
        return "larger-than-gpu"
    if shares.more_than_all:
        return "more-than-all"
    if allowed is not None and (shares.reserved_bytes or 0) + asked > allowed:
        return "own-limit"
    return "free-enough" if asked <= free and free >= min_free_share * total else None


def _largest(parts: dict[str, tuple[int | None, float]], short: int) -> str | None:
    """The largest part that is not small and would have been enough; None: it does not fit."""
    enough = {
        name: size for name, (size, least) in parts.items() if size is not None and size >= max(short, least)
    }
    return max(enough, key=lambda name: enough[name], default=None)


def _context(shares: Shares, context_bytes: int) -> int:
    """What the program's own CUDA context may take of the memory that nobody is named for."""
    return context_bytes if shares.process_bytes is None else 0


def _evidence(failure: OutOfMemory, shares: Shares) -> Iterator[Evidence]:
    """The sizes of the message, the whole before its parts, and what follows from them."""
    total = failure.total_bytes
    unnamed = shares.unnamed_bytes
    parts: tuple[tuple[str, int | None, int | None], ...] = (
        ("asked_bytes", failure.asked_bytes, None),
        ("free_bytes", failure.free_bytes, total),
        ("allowed_bytes", failure.allowed_bytes, total),
        ("process_bytes", shares.process_bytes, total),
        ("reserved_bytes", shares.reserved_bytes, shares.process_bytes),
        ("allocated_bytes", failure.allocated_bytes, shares.reserved_bytes),
        ("private_pool_bytes", failure.private_pool_bytes, failure.allocated_bytes),
        ("unallocated_bytes", shares.unallocated_bytes, shares.reserved_bytes),
        ("beside_bytes", shares.beside_bytes, shares.process_bytes),
        ("others_bytes", shares.others_bytes, total),
        ("unnamed_bytes", unnamed if unnamed is not None and unnamed > ROUNDING_BYTES else None, total),
    )
    for name, size, whole in parts:
        if size is not None:
            told = getattr(failure, name, None) is not None or name == "process_bytes"
            yield (measured if told else calculated)(name, size, of=whole, source=TEXT)
    if shares.others:
        yield measured("holders", _holders(shares), source=TEXT)
    if failure.count > 1:
        yield calculated("message_count", failure.count, source=TEXT)


def _named(shares: Shares) -> list[MemoryHolder]:
    """The other processes, the largest first; those of unknown size last."""
    return sorted(shares.others, key=lambda other: -(other.memory_used_bytes or 0))


def _holders(shares: Shares) -> str:
    said = [
        f"pid {other.pid}"
        + ("" if other.memory_used_bytes is None else f" ({units.size(other.memory_used_bytes)})")
        for other in _named(shares)[:MOST_NAMED]
    ]
    more = len(shares.others) - MOST_NAMED
    return ", ".join([*said, f"+{more}"] if more > 0 else said)


def _words(failure: OutOfMemory, shares: Shares) -> dict[str, Any]:
    whose = [
        f"{name} {number}"
        for name, number in (("rank", failure.rank), ("pid", failure.pid))
        if number is not None
    ]
    device = "GPU" if failure.device is None else f"GPU {failure.device}"
    return {
        "device": f"{device} ({', '.join(whose)})" if whose else device,
        "held_bytes": shares.held_bytes or 0,
        "pids": ",".join(str(other.pid) for other in _named(shares)[:MOST_NAMED]) or "PID",
        "processes": PROCESSES.get(failure.allocator, NVIDIA),
        "setting": failure.setting or "-",
    }
