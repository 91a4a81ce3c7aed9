"""What a program says when it gets no more GPU memory: PyTorch in every wording, JAX, TensorFlow, llama.cpp.

The sizes are the message's own. One that it does not give, that was cut or broken in two, or that is no size
(2^64 bytes, where the driver does not tell a process' memory) stays unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpudiag.model import MemoryHolder, OutOfMemory
from gpudiag.smi.messages import Log, Message, beginning

MOST_FAILURES = 16
MOST_HOLDERS = 64
LARGEST_GPU = 1 << 50

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "B": 1}
_SIZE = r"(\d{1,15}(?:\.\d{1,2})?(?:bytes|[KMGT]iB|B))"

_TORCH = beginning(
    "CUDA out of memory. Tried to allocate", "HIP out of memory. Tried to allocate",
    "XPU out of memory. Tried to allocate",
)  # fmt: skip
_ASYNC = beginning("Allocation on device")  # PyTorch with cudaMallocAsync
_JAX = beginning(
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
    "RESOURCE_EXHAUSTED: Out of memory allocating",
)
_GGML = re.compile(
    r"allocating\s+(\d{1,9}\.\d\d)\s+MiB\s+on\s+device\s+(\d{1,3}):\s+cudaMalloc\s+failed:\s+out"
)

_BFC = beginning("ran out of memory trying to allocate")  # TensorFlow's and XLA's
_TENSOR = beginning("OOM when allocating tensor with shape[")
_FROM_DEVICE = re.compile(
    r"failed\s+to\s+allocate\s+[\d.]{1,9}[KMGT]?i?B?\s+\(\d{1,15}\s+bytes\)\s+from\s+device"
)
_TRT = beginning("Requested amount of GPU memory (")
_TENSOR_BYTES = {
    "float": 4, "half": 2, "bfloat16": 2, "double": 8, "int32": 4, "int64": 8, "int16": 2, "int8": 1,
    "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip

_WITHOUT_SIZES = (
    "cuda out of memory", "cuda error: out of memory", "cuda_error_out_of_memory",
    "cudaerrormemoryallocation", "resource_exhausted: out of memory", "cuda failure 2 'out of memory'",
    "cuda failure 'out of memory'", "cuda runtime (out of memory)",
)  # fmt: skip

_ASKED = re.compile(rf"(?:allocate|allocating){_SIZE}")
_DEVICE = re.compile(r"GPU(\d{1,3})(?:has|;)")
_SIZES = {
    name: re.compile(pattern)
    for name, pattern in {
        "total_bytes": rf"(?:totalcapac?i?tyof{_SIZE}|;{_SIZE}totalcapacity)",
        "free_bytes": rf"(?:ofwhich{_SIZE}isfree|;{_SIZE}free)",
        "allowed_bytes": rf"{_SIZE}allowed;",
        "process_bytes": rf"thisprocesshas{_SIZE}memoryinuse",
        "reserved_bytes": rf";{_SIZE}reservedintotalbyPyTorch",
        "allocated_bytes": rf"(?:memory{_SIZE}isallocatedbyPyTorch|;{_SIZE}alreadyallocated)",
        "private_pool_bytes": rf"with{_SIZE}allocatedinprivatepools",
        # "cached" of the first versions is what is reserved beside what is allocated
        "unallocated_bytes": rf"(?:and{_SIZE}isreservedbyPyTorchbutunallocated|;{_SIZE}cached\))",
    }.items()
}  # fmt: skip
_REQUESTED = re.compile(rf"Requested:{_SIZE}")
_ASYNC_SIZES = {
    "total_bytes": re.compile(rf"Devicelimit:{_SIZE}"),
    "free_bytes": re.compile(rf"Free\(accordingtoCUDA\):{_SIZE}"),
    "allowed_bytes": re.compile(rf"user-suppliedmemoryfraction\):{_SIZE}"),
    "allocated_bytes": re.compile(rf"Currentlyallocated:{_SIZE}"),
}
_HOLDER = re.compile(rf"Process(\d{{1,10}})has{_SIZE}memoryinuse")
_VARIABLE = re.compile(r"PYTORCH_(?:[A-Z]{2,8}_)?ALLOC_CONF")
_VARIABLES = {
    "cuda": "PYTORCH_CUDA_ALLOC_CONF",
    "hip": "PYTORCH_HIP_ALLOC_CONF",
    "xpu": "PYTORCH_ALLOC_CONF",
}


def failures_of(log: Log) -> list[OutOfMemory]:
    """The failed allocations that a text tells of: of each process and GPU the last one."""
    latest: dict[tuple[Any, ...], OutOfMemory] = {}
    for failure in _every(log):
        key = (failure.allocator, failure.rank, failure.pid, failure.device)
        before = latest.pop(key, None)
        if before is not None:
            same = _without_count(before) == _without_count(failure)  # one error, printed again
            failure.count = before.count + (not same)
        elif len(latest) >= MOST_FAILURES:
            continue
        latest[key] = failure
    return list(latest.values())


def without_sizes(log: Log) -> bool:
    """Whether a text tells at least that a program got no more GPU memory."""
    lowered = log.text.lower()
    return any(words in lowered for words in _WITHOUT_SIZES)


def _every(log: Log) -> Iterator[OutOfMemory]:
    kinds: tuple[tuple[re.Pattern[str], Callable[[Message], OutOfMemory | None]], ...] = (
        (_TORCH, _torch), (_ASYNC, _async), (_JAX, _jax), (_GGML, _ggml), (_TRT, _tensorrt),
        (_FROM_DEVICE, _tensorflow), (_BFC, _tensorflow), (_TENSOR, _tensor),
    )  # fmt: skip
    of_xla = "external/xla/" in log.text or "jaxlib" in log.text
    for begins, read in kinds:
        for message in log.messages(begins):
            failure = read(message)
            if failure is not None:
                if of_xla and failure.allocator == "tensorflow":  # JAX has the same allocator
                    failure.allocator = "jax"
                failure.rank, failure.pid = message.rank, message.pid
                yield failure


def _torch(message: Message) -> OutOfMemory | None:
    text = message.text
    asked = _ASKED.search(text)
    if asked is None or (size := _bytes(asked[1])) is None:
        return None
    device, variable = _DEVICE.search(text), _VARIABLE.search(text)
    failure = OutOfMemory(allocator=text.partition("out")[0].lower(), asked_bytes=size)
    failure.device = None if device is None else int(device[1])
    for name, pattern in _SIZES.items():
        setattr(failure, name, _gpu_bytes(_found(pattern, text)))
    holders = list(_HOLDER.finditer(text))[:MOST_HOLDERS]
    failure.others = [
        MemoryHolder(pid=int(holder[1]), memory_used_bytes=_gpu_bytes(_bytes(holder[2])))
        for holder in holders
    ] or None
    name = variable[0] if variable else _VARIABLES[failure.allocator]
    newer = "hasatotalcapac" in text  # this wording came with expandable segments
    failure.setting = f"{name}={'expandable_segments:True' if newer else 'max_split_size_mb:128'}"
    return failure


def _async(message: Message) -> OutOfMemory | None:
    text = message.text
    begins, asked = re.match(r"Allocationondevice(\d{1,3})?wouldexceedallowed", text), _REQUESTED.search(text)
    if begins is None or asked is None or (size := _bytes(asked[1])) is None:
        return None
    device = None if begins[1] is None else int(begins[1])
    failure = OutOfMemory(allocator="cuda", asked_bytes=size, device=device)
    for name, pattern in _ASYNC_SIZES.items():
        setattr(failure, name, _gpu_bytes(_found(pattern, text)))
    failure.setting = f"{_VARIABLES['cuda']}=expandable_segments:True"
    return failure


def _jax(message: Message) -> OutOfMemory | None:
    asked = _ASKED.search(message.text)
    size = None if asked is None else _bytes(asked[1])
    return None if size is None else OutOfMemory(allocator="jax", asked_bytes=size)


def _ggml(message: Message) -> OutOfMemory | None:
    found = re.match(r"allocating(\d{1,9}\.\d\d)MiBondevice(\d{1,3}):", message.text)
    if found is None:
        return None
    return OutOfMemory(
        allocator="ggml", asked_bytes=round(float(found[1]) * _UNITS["MiB"]), device=int(found[2])
    )


_BFC_ASKED = re.compile(
    rf"(?:allocate{_SIZE}(?:\(roundedto(\d{{1,15}})\))?|failedtoallocate[^(]{{1,12}}\((\d{{1,15}})bytes\))"
)
_TENSOR_SHAPE = re.compile(
    r"OOMwhenallocatingtensorwithshape\[([\d,]{0,200})\]andtype(\w{1,12}?)on/[\w:/]{1,120}GPU:\d"
)
_TRT_ASKED = re.compile(r"RequestedamountofGPUmemory\((\d{1,15})bytes\)couldnotbeallocated")


def _tensorflow(message: Message) -> OutOfMemory | None:
    """What the BFC allocator did not get; what it calls no failure is a hint on speed alone."""
    asked = _BFC_ASKED.search(message.text)
    if asked is None or "notafailure" in message.text[:400]:
        return None
    exact = asked[2] or asked[3]
    size = int(exact) if exact else _bytes(asked[1])
    return None if not size else OutOfMemory(allocator="tensorflow", asked_bytes=size)


def _tensor(message: Message) -> OutOfMemory | None:
    said = _TENSOR_SHAPE.match(message.text)
    width = _TENSOR_BYTES.get(said[2]) if said else None
    if said is None or width is None:
        return None
    size = math.prod(int(part) for part in said[1].split(",") if part) * width
    if not 0 < size < 1 << 63:
        return None
    return OutOfMemory(allocator="tensorflow", asked_bytes=size)


def _tensorrt(message: Message) -> OutOfMemory | None:
    said = _TRT_ASKED.match(message.text)
    return OutOfMemory(allocator="tensorrt", asked_bytes=int(said[1])) if said else None


def _without_count(failure: OutOfMemory) -> tuple[Any, ...]:
    return tuple(getattr(failure, name) for name in failure.__struct_fields__ if name != "count")


def _found(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else _bytes(next(group for group in found.groups() if group))


def _bytes(written: str) -> int | None:
    """The bytes of `2.00GiB`; None where no machine has so many."""
    unit = next(unit for unit in _UNITS if written.endswith(unit))
    size = round(float(written.removesuffix(unit)) * _UNITS[unit])
    return size if size < 1 << 63 else None


def _gpu_bytes(size: int | None) -> int | None:
    """The same of what a GPU holds."""
    return size if size is not None and size < LARGEST_GPU else None
