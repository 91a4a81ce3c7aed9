"""What programs print when they get no GPU memory, made for tests: sizes in, a message of one wording out."""

from __future__ import annotations

from dataclasses import dataclass, field

GIB = 1 << 30
MIB = 1 << 20


def size(count: float) -> str:
    """As the allocator writes it: two decimals of the largest unit, whole bytes below one KiB."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count:.0f} bytes"


@dataclass
class Failure:
    """A failed allocation; what is None is not told."""

    asked: float = 2 * GIB
    total: float = 79.15 * GIB
    free: float = 1.25 * GIB
    allocated: float = 70.5 * GIB
    unallocated: float = 0.5 * GIB
    device: int | str = 0
    process: float | None = 77.5 * GIB
    pools: float | None = None
    allowed: float | None = None
    others: dict[int, float | None] = field(default_factory=dict)
    backend: str = "CUDA"

    def sentence(self, capacity: str = "capacity", setting: str = "expandable_segments:True") -> str:
        """PyTorch 2.1 and newer; the first of them wrote `capacty`."""
        named = "".join(
            f"Process {pid} has {'17179869184.00 GiB' if held is None else size(held)} memory in use. "
            for pid, held in self.others.items()
        )
        own = "" if self.process is None else (
            f"Including non-PyTorch memory, this process has {size(self.process)} memory in use. "
        )  # fmt: skip
        limit = "" if self.allowed is None else f"{size(self.allowed)} allowed; "
        pools = "" if self.pools is None else (
            f"with {size(self.pools)} allocated in private pools (e.g., CUDA Graphs), "
        )  # fmt: skip
        return (
            f"{self.backend} out of memory. Tried to allocate {size(self.asked)}. GPU {self.device} has a "
            f"total {capacity} of {size(self.total)} of which {size(self.free)} is free. {named}{own}{limit}"
            f"Of the allocated memory {size(self.allocated)} is allocated by PyTorch, {pools}and "
            f"{size(self.unallocated)} is reserved by PyTorch but unallocated. If reserved but unallocated "
            f"memory is large try setting PYTORCH_{self.backend}_ALLOC_CONF={setting} to avoid fragmentation."
        )

    def parenthesis(self, tail: str = "reserved in total by PyTorch") -> str:
        """PyTorch 1.x and 2.0; before 1.4 the last size was what is cached beside what is allocated."""
        last = self.unallocated if tail == "cached" else self.allocated + self.unallocated
        limit = "" if self.allowed is None else f"{size(self.allowed)} allowed; "
        return (
            f"{self.backend} out of memory. Tried to allocate {size(self.asked)} (GPU {self.device}; "
            f"{size(self.total)} total capacity; {size(self.allocated)} already allocated; {size(self.free)} "
            f"free; {limit}{size(last)} {tail})"
        )


COMFY = (
    "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
    "Currently allocated     : 9.25 GiB\n"
    "Requested               : 4.50 GiB\n"
    "Device limit            : 12.00 GiB\n"
    "Free (according to CUDA): 1.75 GiB\n"
    "PyTorch limit (set by user-supplied memory fraction)\n"
    "                        : 17179869184.00 GiB\n"
)
JAX = "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33762398024 bytes."
LLAMA_CPP = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8148.00 MiB on device 1: cudaMalloc failed: "
    "out of memory"
)
NO_ROOM = (
    "INFO 11-29 03:12:01 [gpu_worker.py:227] Available KV cache memory: -0.25 GiB\n"
    "ERROR 11-29 03:12:02 [core.py:390] ValueError: No available memory for the cache blocks. Try increasing "
    "`gpu_memory_utilization` when initializing the engine."
)
TOO_LONG = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is "
    "needed, which is larger than the available KV cache memory (4.25 GiB). Based on the available memory, "
    "the estimated maximum model length is 34480. Try increasing `gpu_memory_utilization`."
)
TOO_LONG_BEFORE = (
    "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be "
    "stored in KV cache (34480). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
)
NOT_FREE = (
    "ValueError: Free memory on device cuda:0 (3.25/8.0 GiB) on startup is less than desired GPU memory "
    "utilization (0.9, 7.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by others."
)
