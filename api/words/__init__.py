"""What the server itself says: what it refuses, how it starts; one file per language.

What rules say stands beside them.

To add a language: one file with every key of en.py, and its line in `LANGUAGES`.
"""

from __future__ import annotations

from api.words import en, ko
from gpudiag.errors import GpudiagError
from gpudiag.words.refusals import in_language

LANGUAGES = {"en": en.SENTENCES, "ko": ko.SENTENCES}


class Sentence:
    """A sentence that can be said in every language: its key, and what goes into it, sentences among it."""

    def __init__(self, key: str, /, **values: object) -> None:
        self.key, self.values = key, values

    def said(self, language: str) -> str:
        """In a language; in English where that one is not known."""
        told = {
            name: value.said(language) if isinstance(value, Sentence) else in_language(value, language)
            for name, value in self.values.items()
        }
        return LANGUAGES.get(language, en.SENTENCES)[self.key].format(**told)


class Worded(GpudiagError):
    """An error whose sentence stands here: its key, and the values that go into it."""

    def __init__(self, key: str, /, **values: object) -> None:
        super().__init__(key)
        self.sentence = Sentence(key, **values)

    def said(self, language: str) -> str:
        return self.sentence.said(language)

    def __str__(self) -> str:
        return self.said("en")
