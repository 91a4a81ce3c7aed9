"""Situations of kv-pool-too-small and its look-alikes."""

from typing import Any

from gpudiag.model import CacheShortage
from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window


def _refused(reason: str, **told: Any) -> Window:
    shortage = CacheShortage(engine="vllm", reason=reason, **told)
    return sample(formats=["program_errors"], cache_shortages=[shortage])


def _nothing_left() -> Window:
    return _refused("no_room", available_bytes=-GIB // 4)


def _one_request() -> Window:
    return _refused(
        "too_long", model_len=131_072, longest_len=34_480, needed_bytes=16 * GIB, available_bytes=4 * GIB
    )


def _taken() -> Window:
    return _refused(
        "not_free", free_bytes=7 * GIB, total_bytes=8 * GIB, wanted_bytes=int(7.2 * GIB), wanted_ratio=0.9
    )


def _sglang() -> Window:
    shortage = CacheShortage(engine="sglang", reason="no_room", wanted_ratio=0.7)
    return sample(formats=["program_errors"], cache_shortages=[shortage])


CASES = [
    Case("nothing is left for the cache", _nothing_left, "fires", gpu=None, severity="warning"),
    Case("one request is longer than the cache", _one_request, "fires", gpu=None, variant="too-long"),
    Case("the memory was taken as it started", _taken, "fires", gpu=None, variant="not-free"),
    Case("SGLang's static share is too small", _sglang, "fires", gpu=None, variant="sglang"),
    Case("a table without a message", lambda: sample(shown()), "clear", gpu=None),
]
