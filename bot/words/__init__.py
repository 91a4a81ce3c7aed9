"""The bot's own sentences, one file per language.

What rules say comes from the API, the words of the contract (critical, measured, likely) from gpudiag.words.

To add a language: one file with every key of en.py, and its line in `LANGUAGES`.
"""

from __future__ import annotations

from bot.words import en, ko
from gpudiag.errors import GpudiagError
from gpudiag.words import words
from gpudiag.words.refusals import in_language

LANGUAGES = {"en": en.SENTENCES, "ko": ko.SENTENCES}


def say(lang: str, key: str, **values: object) -> str:
    """The sentence `key` in `lang` (English where the language is not known)."""
    sentence = LANGUAGES.get(lang, en.SENTENCES)[key].format(**values)
    return sentence if lang == "ko" else en.counted(sentence)


class Mistake(GpudiagError):
    """Why the bot cannot do what it was told: a sentence by its key, and the values that go into it.

    A value that is a list of mistakes is said as one after the other.
    """

    def __init__(self, key: str, /, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values

    def said(self, language: str) -> str:
        return say(
            language, self.key, **{name: _said(value, language) for name, value in self.values.items()}
        )

    def __str__(self) -> str:
        return self.said("en")


def _said(value: object, language: str) -> object:
    if isinstance(value, list):
        return "; ".join(one.said(language) for one in value)
    return in_language(value, language)


def state_word(lang: str, state: str) -> str:
    """How every surface says a severity, or the state of a finding."""
    said = words(lang)
    word: str = said.SEVERITY.get(state) or said.STATE[state]
    return word


def headed(lang: str, state: str) -> str:
    """The same where it begins a line."""
    word = state_word(lang, state)
    return word[:1].upper() + word[1:]


def contract_word(lang: str, name: str) -> str | None:
    """A word of the contract (measured, likely, …) as every surface says it; None where it is none."""
    said = words(lang)
    word: str | None = said.KIND.get(name) or said.CONFIDENCE.get(name)
    return word
