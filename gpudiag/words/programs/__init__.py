"""What programs say of themselves: what they refuse, what is done; one file per language.

What is said of GPUs stands beside the rules and in the files above. To add a language: one file with every
key of en.py, and its line in `words`.
"""

from __future__ import annotations

from types import ModuleType

from gpudiag.words.programs import en


def words(language: str) -> ModuleType:
    """The sentences of one language; English, which is always at hand, where it has none."""
    if language == "ko":
        from gpudiag.words.programs import ko

        return ko
    return en
