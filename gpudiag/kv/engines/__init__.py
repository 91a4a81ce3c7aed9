"""What each inference engine really allocates and how it sizes its pool, one file per engine.

An engine rounds a sequence to its own units (blocks, tokens, cells) and derives a budget from the GPU.
It imports the shape, cache and weights modules and nothing else. To add one: subclass `Engine`, fill in what
differs, and name it in `ENGINES`; unset facts stay None, never 0.
"""

from __future__ import annotations

import importlib

from gpudiag.kv.engines.base import Engine

# name → (module, class); loaded when asked for, so that a cold start pays for one engine only.
ENGINES = {
    "vllm": ("vllm", "Vllm"),
    "sglang": ("sglang", "Sglang"),
    "tensorrt-llm": ("tensorrt", "TensorRt"),
    "tgi": ("tgi", "Tgi"),
    "lmdeploy": ("lmdeploy", "LmDeploy"),
    "llama.cpp": ("llamacpp", "LlamaCpp"),
    "ollama": ("ollama", "Ollama"),
}


def engine_class(name: str | None) -> type[Engine]:
    """The class for a canonical engine name; the exact need when no engine is named."""
    if name is None:
        return Engine
    module, symbol = ENGINES[name]
    return getattr(importlib.import_module(f"gpudiag.kv.engines.{module}"), symbol)
