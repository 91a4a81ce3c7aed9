"""Ollama: llama.cpp's cells; num_ctx × OLLAMA_NUM_PARALLEL of them."""

from __future__ import annotations

from gpudiag.kv.engines.llamacpp import LlamaCpp
from gpudiag.kv.note import Note, note


class Ollama(LlamaCpp):
    name = "ollama"

    def notes(self, tokens: int) -> list[Note]:
        return [*super().notes(tokens), note("ollama-parallel")]
