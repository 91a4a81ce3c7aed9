"""Inference servers we can read, one table each.

A table maps our field to the names their metrics page uses, newest first. `read` asks a server and returns an
EngineReading; it judges nothing. To add one: copy vllm.py, fill its table, name it in `TABLES`, and save a
captured metrics page under tests/engines/pages/.
"""

from __future__ import annotations

from gpudiag.engines.reading import Table, read, reading_of
from gpudiag.engines.vllm import VLLM

TABLES: dict[str, Table] = {table.engine: table for table in (VLLM,)}

__all__ = ["TABLES", "Table", "read", "reading_of"]
