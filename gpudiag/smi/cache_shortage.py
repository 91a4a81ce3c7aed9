"""What an inference engine says when its KV cache has no room and it does not start: vLLM, SGLang."""

from __future__ import annotations

import re

from gpudiag.model import CacheShortage
from gpudiag.smi.messages import Log, beginning

_GIB = r"(-?\d{1,9}(?:\.\d{1,3})?)GiB"
_BEGINS = beginning(
    "No available memory for the cache blocks", "max seq len (", "Free memory on device",
    "Not enough memory. Please try to increase --mem-fraction-static",
)  # fmt: skip
_FRACTION = re.compile(r"mem_fraction_static=(0?\.\d{1,6})")
_TOO_LONG = re.compile(
    r"maxseqlen\((\d{1,12})\)islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache\((\d{1,12})\)"
)
_NEEDS = re.compile(
    rf"maxseqlen\((\d{{1,12}})\),\(?{_GIB}KVcacheisneeded,whichislargerthantheavailableKVcachememory\({_GIB}\)"
)
_LONGEST = re.compile(r"estimatedmaximummodellengthis(\d{1,12})\.")
_NOT_FREE = re.compile(
    rf"Freememoryondevice[\w:]{{0,20}}\((\d{{1,9}}(?:\.\d{{1,3}})?)/{_GIB}\)onstartupislessthandesiredGPUmemory"
    rf"utilization\((\d(?:\.\d{{1,6}})?),{_GIB}\)"
)
_AVAILABLE = re.compile(rf"AvailableKVcachememory:{_GIB}")
_SAYS_AVAILABLE = beginning("Available KV cache memory:")


def shortages_of(log: Log) -> list[CacheShortage]:
    """Why an engine did not start for its KV cache, each reason once and as told last."""
    told: dict[str, CacheShortage] = {}
    for message in log.messages(_BEGINS):
        shortage = _shortage(message.text)
        if shortage is not None:
            told.pop(shortage.reason, None)
            told[shortage.reason] = shortage
    none = told.get("no_room")
    if none is not None and none.engine == "vllm":
        none.available_bytes = _available(log)
    return list(told.values())


def _shortage(text: str) -> CacheShortage | None:
    if text.startswith("Noavailable"):
        return CacheShortage(engine="vllm", reason="no_room")
    if text.startswith("Notenough"):
        fraction = _FRACTION.search(text[:300])
        ratio = None if fraction is None else float(fraction[1])
        return CacheShortage(engine="sglang", reason="no_room", wanted_ratio=ratio)
    if (said := _TOO_LONG.match(text)) is not None:
        return CacheShortage(
            engine="vllm", reason="too_long", model_len=int(said[1]), longest_len=int(said[2])
        )
    if (said := _NEEDS.match(text)) is not None:
        longest = _LONGEST.search(text)
        return CacheShortage(
            engine="vllm", reason="too_long", model_len=int(said[1]), needed_bytes=_gib(said[2]),
            available_bytes=_gib(said[3]), longest_len=None if longest is None else int(longest[1]),
        )  # fmt: skip
    if (said := _NOT_FREE.match(text)) is not None:
        return CacheShortage(
            engine="vllm", reason="not_free", free_bytes=_gib(said[1]), total_bytes=_gib(said[2]),
            wanted_ratio=float(said[3]), wanted_bytes=_gib(said[4]),
        )  # fmt: skip
    return None


def _available(log: Log) -> int | None:
    """What the log says was left for the cache; told at every start, so it counts beside a refusal alone."""
    said = [_AVAILABLE.match(message.text) for message in log.messages(_SAYS_AVAILABLE)]
    return next((_gib(one[1]) for one in reversed(said) if one is not None), None)


def _gib(written: str) -> int:
    return round(float(written) * (1 << 30))
