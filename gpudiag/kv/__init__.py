"""The KV cache and memory calculator, a leaf: standard library only, nothing of ours but the error class.

`calculate(Question.from_mapping({...}))` answers; `.as_json()` has the interface's keys, `text.render` the
text. `config` and `traits` read a config.json, `shape` holds the geometry, `cache` and `weights` count bytes,
`engines` know what is allocated; `deployment` brings them together as a question has it, `remarks` says what
the numbers rest on. To add an architecture see `traits`, an engine `engines`; models, families and GPUs are
files of `data/`, which `catalogue` and `families` read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudiag.kv.answer import Answer as Answer
    from gpudiag.kv.calculation import calculate as calculate
    from gpudiag.kv.errors import KvError as KvError
    from gpudiag.kv.question import Question as Question

__all__ = ["Answer", "KvError", "Question", "calculate"]

_HOMES = {
    "Answer": "gpudiag.kv.answer",
    "KvError": "gpudiag.kv.errors",
    "Question": "gpudiag.kv.question",
    "calculate": "gpudiag.kv.calculation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpudiag.kv' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
