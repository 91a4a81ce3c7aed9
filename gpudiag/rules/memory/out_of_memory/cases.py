"""Situations of out-of-memory and its look-alikes."""

from typing import Any

from gpudiag.model import MemoryHolder, OutOfMemory
from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines, sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window

SETTING = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
KILLED = "[ 12.3] Out of memory: Killed process 5700 (python3) total-vm:512000000kB, anon-rss:498000000kB"


def _failed(*others: tuple[int, int | None], **sizes: Any) -> Window:
    """PyTorch asks for 2 GiB of an 80 GiB GPU that is full; `sizes` change it."""
    known = {"asked_bytes": 2 * GIB, "total_bytes": 80 * GIB, "free_bytes": GIB // 2, "device": 0}
    failure = OutOfMemory(
        allocator="cuda",
        setting=SETTING,
        others=[MemoryHolder(pid=pid, memory_used_bytes=size) for pid, size in others] or None,
        **{**known, **sizes},
    )
    return sample(formats=["program_errors"], out_of_memory=[failure])


def _does_not_fit() -> Window:
    return _failed(process_bytes=79 * GIB, allocated_bytes=78 * GIB, unallocated_bytes=GIB // 4)


def _others() -> Window:
    return _failed((5120, 70 * GIB), (611, None), process_bytes=9 * GIB, allocated_bytes=8 * GIB,
                   unallocated_bytes=GIB // 8)  # fmt: skip


def _in_pieces() -> Window:
    return _failed(process_bytes=79 * GIB, allocated_bytes=60 * GIB, private_pool_bytes=GIB,
                   unallocated_bytes=18 * GIB)  # fmt: skip


def _older() -> Window:
    return _failed(allocated_bytes=40 * GIB, unallocated_bytes=GIB)


def _beside() -> Window:
    return _failed(process_bytes=79 * GIB, allocated_bytes=50 * GIB, unallocated_bytes=GIB)


def _larger() -> Window:
    return _failed(asked_bytes=184 * GIB, allocated_bytes=GIB, unallocated_bytes=0)


def _limited() -> Window:
    return _failed(
        free_bytes=40 * GIB, allowed_bytes=40 * GIB, allocated_bytes=39 * GIB, unallocated_bytes=GIB // 4
    )


def _refused() -> Window:
    return _failed(free_bytes=13 * GIB, process_bytes=66 * GIB, allocated_bytes=65 * GIB, unallocated_bytes=0)


def _last_bytes() -> Window:
    return _failed(asked_bytes=20 << 20, free_bytes=25 << 20, allocated_bytes=29 * GIB, unallocated_bytes=GIB)


def _lent() -> Window:
    return _failed(total_bytes=8 * GIB, free_bytes=0, allocated_bytes=14 * GIB, unallocated_bytes=GIB)


def _cut() -> Window:
    return _failed(total_bytes=None, free_bytes=None)


def _jax() -> Window:
    failure = OutOfMemory(allocator="jax", asked_bytes=16 * GIB)
    return sample(formats=["program_errors"], out_of_memory=[failure])


def _tensorflow() -> Window:
    failure = OutOfMemory(allocator="tensorflow", asked_bytes=2 * GIB)
    return sample(formats=["program_errors"], out_of_memory=[failure])


def _in_a_container() -> Window:
    return _failed((47694, 79 * GIB), allocated_bytes=78 * GIB, unallocated_bytes=GIB // 4)


def _either() -> Window:
    return _failed((311, 40 * GIB), (312, 39 * GIB), allocated_bytes=38 * GIB, unallocated_bytes=GIB // 4)


CASES = [
    Case("all of it is the program's own", _does_not_fit, "fires", gpu=None, confidence="proven"),
    Case("another program holds nearly all of it", _others, "fires", gpu=None, variant="other-process"),
    Case("much is reserved and unused", _in_pieces, "fires", gpu=None, variant="fragmented"),
    Case("an older PyTorch, and much beside it", _older, "fires", gpu=None, variant="unnamed"),
    Case("a library beside PyTorch holds much", _beside, "fires", gpu=None, variant="beside"),
    Case("one tensor is larger than the GPU", _larger, "fires", gpu=None, variant="larger-than-gpu"),
    Case("a limit that the program set itself", _limited, "fires", gpu=None, variant="own-limit"),
    Case("refused although enough was free", _refused, "fires", gpu=None, variant="free-enough"),
    Case("a little is asked for, and as little is free", _last_bytes, "fires", gpu=None, variant="unnamed"),
    Case("more is held than the GPU has", _lent, "fires", gpu=None, variant="more-than-all"),
    Case("the message is cut", _cut, "fires", gpu=None, variant="asked-only"),
    Case("JAX tells one size alone", _jax, "fires", gpu=None, variant="jax"),
    Case("TensorFlow tells one size alone", _tensorflow, "fires", gpu=None, variant="tensorflow"),
    Case("in a container the driver names the program by the host's pid", _in_a_container, "fires", gpu=None),
    Case("two programs are named, and either may be this one", _either, "fires", gpu=None, variant="unnamed"),
    Case("a table without a message", lambda: sample(shown()), "clear", gpu=None),
    Case("Linux ended a process for host memory", lambda: kernel_lines(KILLED), "clear", gpu=None),
]  # fmt: skip
