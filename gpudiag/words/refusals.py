"""Errors whose sentences stand in the word files, so that every language has them."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from gpudiag.errors import GpudiagError
from gpudiag.words.programs import words


class Refusal(GpudiagError):
    """What is refused: `key`, the class' own or a given one, names the sentence under REFUSED.

    The values go into the sentence, errors among them in its language.
    """

    key: str

    def __init__(self, key: str = "", /, **values: object) -> None:
        self.key = key or self.key
        super().__init__(self.key)
        self.values = values

    def said(self, language: str) -> str:
        return filled(words(language).REFUSED[self.key], self.values, language)

    def __str__(self) -> str:
        return self.said("en")


def agent_says(key: str, language: str, **values: object) -> str:
    """A line that the agent says while it runs."""
    return filled(words(language).AGENT[key], values, language)


def filled(sentence: str, values: Mapping[str, object], language: str) -> str:
    """A sentence with its values, in which an error is said in the same language."""
    return sentence.format(**{name: in_language(value, language) for name, value in values.items()})


def in_language(value: object, language: str) -> object:
    """What goes into a sentence: an error of ours, or the system's, as that language says it."""
    if isinstance(value, GpudiagError):
        return value.said(language)
    if isinstance(value, OSError) and type(value).__module__ == "builtins":  # ssl's numbers are its own
        known = words(language).SYSTEM.get(errno.errorcode.get(value.errno or 0))
        return known or value.strerror or str(value)
    return value
