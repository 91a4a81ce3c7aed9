"""Errors whose sentences stand in the word files, so that every language has them."""

from __future__ import annotations

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
        sentence: str = words(language).REFUSED[self.key]
        return sentence.format(**{name: in_language(value, language) for name, value in self.values.items()})

    def __str__(self) -> str:
        return self.said("en")


def in_language(value: object, language: str) -> object:
    """What goes into a sentence: an error of ours as it is said in that language."""
    return value.said(language) if isinstance(value, GpudiagError) else value
