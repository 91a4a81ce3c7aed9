"""A program's own text about GPU memory that it did not get: read in every wording, however it is wrapped."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from gpudiag.model import CacheShortage, OutOfMemory, PasteReading
from gpudiag.smi import NothingOfAGpu, read
from tests.smi.oom_texts import (
    COMFY,
    GIB,
    JAX,
    LLAMA_CPP,
    MIB,
    NO_ROOM,
    NOT_FREE,
    TOO_LONG,
    TOO_LONG_BEFORE,
    Failure,
)

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/train.py", line 212, in <module>\n'
    "    loss.backward()\n"
)
FULL = Failure(pools=0.25 * GIB, others={611: 5.5 * MIB, 5120: 12.25 * GIB}, process=60.5 * GIB)
PREFIXES = {
    "torchrun": "[rank0]: ",
    "compose": "trainer-1  | ",
    "a level": "2026-11-29T03:12:44.371622Z ERROR ",
    "a quote": "> ",
    "vLLM": "(EngineCore pid=4121) ERROR 11-29 03:12:44 [core.py:390] ",
    "two of them": "trainer-1  | 2026-11-29 03:12:44,120 ERROR [rank0]: ",
}


def paste_of(text: str) -> PasteReading:
    return read(text, now=1.0).paste


def failures(text: str) -> list[OutOfMemory]:
    return paste_of(text).out_of_memory or []


def failure(text: str) -> OutOfMemory:
    (one,) = failures(text)
    return one


def shortage(text: str) -> CacheShortage:
    (one,) = paste_of(text).cache_shortages or []
    return one


def anonymous(found: list[OutOfMemory]) -> list[dict[str, Any]]:
    """What was read, but for whose it is."""
    return [
        {name: getattr(one, name) for name in one.__struct_fields__ if name not in ("rank", "pid")}
        for one in found
    ]


# ---- wordings


def test_every_size_of_todays_wording_is_read() -> None:
    said = failure(FULL.sentence())

    assert (2 * GIB, round(79.15 * GIB), round(1.25 * GIB)) == (
        said.asked_bytes,
        said.total_bytes,
        said.free_bytes,
    )
    assert (round(60.5 * GIB), round(70.5 * GIB), GIB // 4, GIB // 2) == (
        said.process_bytes,
        said.allocated_bytes,
        said.private_pool_bytes,
        said.unallocated_bytes,
    )
    assert [(611, round(5.5 * MIB)), (5120, round(12.25 * GIB))] == [
        (other.pid, other.memory_used_bytes) for other in said.others or ()
    ]
    assert said.reserved_bytes is None  # it follows, but the text does not tell it


def test_the_misspelt_wording_of_one_version_is_read() -> None:
    said = failure(FULL.sentence("capacty", "max_split_size_mb"))

    assert (round(79.15 * GIB), GIB // 4) == (said.total_bytes, said.private_pool_bytes)


def test_the_wording_in_parentheses_tells_what_is_reserved() -> None:
    said = failure(f"RuntimeError: {Failure(device=3, allowed=60 * GIB).parenthesis()}")

    assert (3, 71 * GIB, 60 * GIB) == (said.device, said.reserved_bytes, said.allowed_bytes)
    assert said.unallocated_bytes is None and said.process_bytes is None


def test_the_first_wording_tells_what_is_cached_beside_what_is_allocated() -> None:
    said = failure(Failure(allocated=10.25 * GIB, unallocated=48 * MIB).parenthesis("cached"))

    assert (round(10.25 * GIB), 48 * MIB) == (said.allocated_bytes, said.unallocated_bytes)


def test_a_limit_of_the_program_itself_is_read_in_both_wordings() -> None:
    limited = Failure(allowed=40 * GIB)

    assert [40 * GIB, 40 * GIB] == [
        failure(text).allowed_bytes for text in (limited.sentence(), limited.parenthesis())
    ]


@pytest.mark.parametrize(
    ("failed", "variable"),
    [
        (Failure().sentence(), "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        (Failure(backend="HIP", process=None).sentence(), "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"),
        (Failure().parenthesis(), "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"),
    ],
)
def test_the_setting_is_the_one_that_the_version_knows(failed: str, variable: str) -> None:
    assert variable == failure(failed).setting


def test_a_process_whose_memory_the_driver_does_not_tell_is_unknown_and_not_huge() -> None:
    (other,) = failure(Failure(others={77: None}).sentence()).others or []

    assert (77, None) == (other.pid, other.memory_used_bytes)


def test_a_gpu_without_its_number_is_no_gpu_0() -> None:
    assert failure(Failure(device="").sentence()).device is None


def test_nothing_allocated_is_nothing_and_not_unknown() -> None:
    said = failure(Failure(allocated=0, unallocated=0, process=None).sentence())

    assert (0, 0) == (said.allocated_bytes, said.unallocated_bytes)


def test_the_wording_of_the_drivers_own_pool_is_read() -> None:
    said = failure(COMFY)

    assert (9 * GIB // 2, 12 * GIB, 7 * GIB // 4, round(9.25 * GIB)) == (
        said.asked_bytes,
        said.total_bytes,
        said.free_bytes,
        said.allocated_bytes,
    )
    assert (0, None, None) == (said.device, said.allowed_bytes, said.reserved_bytes)


def test_other_programs_tell_what_was_asked_for_alone() -> None:
    jax, llama = failure(JAX), failure(LLAMA_CPP)

    assert ("jax", 33762398024, None) == (jax.allocator, jax.asked_bytes, jax.total_bytes)
    assert ("ggml", 8148 * MIB, 1) == (llama.allocator, llama.asked_bytes, llama.device)


# ---- what stands around


@pytest.mark.parametrize("width", range(41, 160, 7))
def test_a_message_that_a_terminal_broke_anywhere_is_read_whole(width: int) -> None:
    text = f"torch.OutOfMemoryError: {FULL.sentence()}"
    broken = "\n".join(text[start : start + width] for start in range(0, len(text), width))

    assert failures(broken) == failures(text)


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES.keys())
@pytest.mark.parametrize("width", [40, 78, 110, 2000])
def test_what_a_log_puts_before_every_line_does_not_matter(prefix: str, width: int) -> None:
    lines = [*TRACEBACK.splitlines(), *textwrap.wrap(f"torch.OutOfMemoryError: {FULL.sentence()}", width)]
    logged = "\n".join(prefix + line for line in lines)

    assert anonymous(failures(logged)) == anonymous(failures(FULL.sentence()))


def test_colours_markdown_and_json_do_not_matter() -> None:
    plain = FULL.sentence()
    dressed = (
        f"\x1b[31mtorch.OutOfMemoryError\x1b[0m: \x1b[1m{plain}\x1b[0m",
        f"```\n{TRACEBACK}{plain}\n```",
        f'{{"error": "{plain}", "code": 1}}',
        plain.replace(". ", ".\r\n"),
        f"> **OutOfMemoryError: {plain.replace('. ', '.**' + chr(10) + '> ', 1)}",
    )

    assert [failures(plain)] * len(dressed) == [failures(text) for text in dressed]


def test_a_number_broken_where_no_width_shows_it_is_unknown_and_not_shorter() -> None:
    whole = Failure(free=14.26 * GIB).sentence()
    broken = whole.replace("14.26", "1\n4.26", 1)
    said = failure(f"{'-' * 400}\n{broken}")

    assert (2 * GIB, None) == (said.asked_bytes, said.free_bytes)


def test_a_message_that_was_cut_tells_what_is_left_of_it() -> None:
    said = failure(FULL.sentence()[:110])

    assert (2 * GIB, round(79.15 * GIB), None, None) == (
        said.asked_bytes,
        said.total_bytes,
        said.free_bytes,
        said.allocated_bytes,
    )


# ---- several


def test_each_rank_is_told_once_with_its_own_sizes() -> None:
    text = "\n".join(
        f"[rank{rank}]: torch.OutOfMemoryError: {Failure(device=rank, free=rank * GIB + GIB).sentence()}"
        for rank in range(4)
    )

    assert [(rank, rank, (rank + 1) * GIB, 1) for rank in range(4)] == [
        (one.rank, one.device, one.free_bytes, one.count) for one in failures(text)
    ]


def test_one_error_that_is_printed_again_is_one() -> None:
    again = f"{TRACEBACK}{FULL.sentence()}\nDuring handling of the above:\n{TRACEBACK}{FULL.sentence()}\n"

    assert [1] == [one.count for one in failures(again)]


def test_of_several_of_one_process_the_last_is_told_and_the_others_counted() -> None:
    text = "\n".join(Failure(asked=asked * GIB).sentence() for asked in (8, 4, 2))
    said = failure(text)

    assert (2 * GIB, 3) == (said.asked_bytes, said.count)


def test_the_pid_of_a_worker_is_taken_from_its_own_line() -> None:
    text = f"(Worker_TP1 pid=4122) ERROR {Failure(device=1).sentence()}\n(Worker_TP0 pid=4121) ERROR done\n"

    assert 4122 == failure(text).pid


def test_a_flood_of_messages_keeps_a_bounded_number() -> None:
    text = "\n".join(f"[rank{rank}]: {Failure(device=0).sentence()}" for rank in range(200))

    assert 16 == len(failures(text))


# ---- the engine's own


def test_an_engine_without_room_for_its_cache_says_what_was_left() -> None:
    said = shortage(NO_ROOM)

    assert ("no_room", -GIB // 4) == (said.reason, said.available_bytes)


def test_what_is_left_for_the_cache_is_no_complaint_where_the_engine_started() -> None:
    with pytest.raises(NothingOfAGpu):
        read("INFO 11-29 03:12:01 [gpu_worker.py:227] Available KV cache memory: 21.25 GiB\n")


def test_a_request_that_is_longer_than_the_cache_is_read_in_both_wordings() -> None:
    now, before = shortage(TOO_LONG), shortage(TOO_LONG_BEFORE)

    assert (131_072, 34_480, 16 * GIB, round(4.25 * GIB)) == (
        now.model_len,
        now.longest_len,
        now.needed_bytes,
        now.available_bytes,
    )
    assert (131_072, 34_480, None) == (before.model_len, before.longest_len, before.needed_bytes)


def test_memory_that_was_taken_as_the_engine_started_is_read() -> None:
    said = shortage(NOT_FREE)

    assert ("not_free", round(3.25 * GIB), 8 * GIB, round(7.2 * GIB), 0.9) == (
        said.reason,
        said.free_bytes,
        said.total_bytes,
        said.wanted_bytes,
        said.wanted_ratio,
    )


# ---- what is no such message


@pytest.mark.parametrize(
    "text",
    [
        "MPS backend out of memory (MPS allocated: 17.21 GiB, max allowed: 20 GiB). Tried to allocate 1 GiB.",
        "java.lang.OutOfMemoryError: Java heap space",
        "Out of memory while trying to allocate 4096 bytes",
        "max_seq_len=131072, kv_cache_dtype=auto",
    ],
)
def test_other_programs_memory_is_not_taken_for_a_gpus(text: str) -> None:
    with pytest.raises(NothingOfAGpu):
        read(text)


# ---- TensorFlow, TensorRT, SGLang

TENSOR = (
    "OOM when allocating tensor with shape[16,128,64,64] and type {} on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
BFC = (
    "W {}bfc_allocator.cc:491] Allocator (GPU_0_bfc) ran out of memory trying to allocate {} (rounded to {})"
)


@pytest.mark.parametrize(("kind", "width"), [("float", 4), ("half", 2), ("double", 8)])
def test_the_size_of_a_tensor_follows_from_its_shape(kind: str, width: int) -> None:
    said = failure(TENSOR.format(kind))

    assert ("tensorflow", 16 * 128 * 64 * 64 * width) == (said.allocator, said.asked_bytes)


def test_a_tensor_in_host_memory_is_not_of_the_gpu() -> None:
    told = paste_of("OOM when allocating tensor with shape[9,9] and type float on CPU:0 by allocator mklcpu")

    assert (None, ["host_memory"]) == (told.out_of_memory, told.errors)


def test_the_allocator_that_two_frameworks_share_is_told_apart_by_its_path() -> None:
    line = BFC.format("{}", "3.00GiB", 3 * GIB)

    assert "tensorflow" == failure(line.format("tensorflow/core/common_runtime/")).allocator
    assert "jax" == failure(line.format("external/xla/xla/tsl/framework/")).allocator


def test_what_is_called_no_failure_is_none() -> None:
    hint = BFC.format("tensorflow/core/", "2.00GiB", 2 * GIB)

    with pytest.raises(NothingOfAGpu):
        read(f"{hint} with freed_by_count=0. The caller indicates that this is not a failure, but", now=1.0)


def test_what_the_driver_refused_as_tensorflow_started_is_read() -> None:
    said = failure("cuda_driver.cc:1] failed to allocate 9.50G (10200547328 bytes) from device: CUDA_ERROR")

    assert 10200547328 == said.asked_bytes


def test_tensorrt_tells_bytes() -> None:
    said = failure("[W] Requested amount of GPU memory (4294967296 bytes) could not be allocated. There may")

    assert ("tensorrt", 4 * GIB) == (said.allocator, said.asked_bytes)


def test_sglang_without_room_for_its_cache_is_read() -> None:
    said = shortage(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
        "Current value: self.server_args.mem_fraction_static=0.74"
    )

    assert ("sglang", "no_room", 0.74) == (said.engine, said.reason, said.wanted_ratio)
