"""What the API itself says where it refuses, one file per language. What rules say stands beside them.

To add a language: one file with every key of en.py, and its line in `LANGUAGES`.
"""

from __future__ import annotations

from api.words import en, ko

LANGUAGES = {"en": en.SENTENCES, "ko": ko.SENTENCES}


class Sentence:
    """A sentence that can be said in every language: its key, and what goes into it (sentences too)."""

    def __init__(self, key: str, /, **values: object) -> None:
        self.key, self.values = key, values

    def said(self, language: str) -> str:
        """In a language; in English where that one is not known."""
        told = {
            name: value.said(language) if isinstance(value, Sentence) else value
            for name, value in self.values.items()
        }
        return LANGUAGES.get(language, en.SENTENCES)[self.key].format(**told)
