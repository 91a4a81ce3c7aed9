"""Errors whose sentences stand in the word files, so that every language has them."""

from __future__ import annotations

from typing import ClassVar

from gpudiag.errors import GpudiagError
from gpudiag.words import words


class Refusal(GpudiagError):
    """What is refused: `key` names the sentence under REFUSED, the values go into it."""

    key: ClassVar[str]

    def __init__(self, **values: object) -> None:
        super().__init__(self.key)
        self.values = values

    def said(self, language: str) -> str:
        sentence: str = words(language).REFUSED[self.key]
        return sentence.format(**self.values)

    def __str__(self) -> str:
        return self.said("en")
