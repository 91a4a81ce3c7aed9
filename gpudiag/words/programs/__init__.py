"""What programs say of themselves: what they refuse, what is done; one file per language.

What is said of GPUs stands beside the rules and in the files above. To add a language: one file with every
key of en.py.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

from gpudiag.words import LANGUAGES
from gpudiag.words.programs import en


@cache
def words(language: str) -> ModuleType:
    """The sentences of one language; English, which is always at hand, where it has none."""
    return import_module(f"{__name__}.{language}") if language in LANGUAGES else en
