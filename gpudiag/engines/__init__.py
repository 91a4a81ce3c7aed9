"""Inference servers we can read, one table each.

A table maps our field to the names their metrics page uses, newest first. `read` asks a server and returns an
EngineReading; it judges nothing. To add one: copy vllm.py, fill its table, name it in `TABLES`, and save a
captured metrics page under tests/engines/pages/.
"""

from __future__ import annotations

from gpudiag.engines.flags import Flags, option, put_flags
from gpudiag.engines.llama_cpp import LLAMA_CPP
from gpudiag.engines.lmdeploy import LMDEPLOY
from gpudiag.engines.ollama import OLLAMA
from gpudiag.engines.reading import Table, read, reading_of, within_reason
from gpudiag.engines.sglang import SGLANG
from gpudiag.engines.tensorrt_llm import TENSORRT_LLM
from gpudiag.engines.tgi import TGI
from gpudiag.engines.triton import TRITON
from gpudiag.engines.vllm import VLLM

TABLES: dict[str, Table] = {
    table.engine: table for table in (VLLM, SGLANG, TENSORRT_LLM, TRITON, TGI, LMDEPLOY, LLAMA_CPP, OLLAMA)
}

__all__ = ["TABLES", "Flags", "Table", "option", "put_flags", "read", "reading_of", "within_reason"]
