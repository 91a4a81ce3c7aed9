"""Situations of memory-bandwidth-bound and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import vllm_busy, vllm_idle
from gpudiag.window import Window


def _decodes(minutes: float = 6, running: float = 12.0, **gpu: Any) -> Window:
    s = vllm_busy(minutes=0)
    s.gpu(0).shows(**{"dram_active_ratio": 0.74, "tensor_active_ratio": 0.11, "sm_active_ratio": 0.6, **gpu})
    s.serves("vllm", requests_running=running)
    return s.passes(minutes=minutes).window


CASES = [
    Case("decoding reads weights all the time", _decodes, "fires", severity="ok"),
    Case("long prompts keep the tensor cores busy", lambda: _decodes(tensor_active_ratio=0.6), "clear"),
    Case("memory has room", lambda: _decodes(dram_active_ratio=0.2), "clear"),
    Case("no requests", lambda: vllm_idle().window, "clear"),
    Case("the units cannot be looked at", lambda: vllm_busy().window, "clear"),
    Case("tensor activity is not read", lambda: _decodes(tensor_active_ratio=None), "unjudged"),
    Case("seen for a minute", lambda: _decodes(minutes=1), "unjudged"),
]
