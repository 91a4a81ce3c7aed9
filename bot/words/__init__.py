"""The bot's own sentences, one file per language.

What rules say comes from the API, the words of the contract (measured, likely) from gpudiag.words.

To add a language: one file with every key of en.py, and its line in `LANGUAGES`.
"""

from __future__ import annotations

from bot.words import en, ko
from gpudiag.words import words

LANGUAGES = {"en": en.SENTENCES, "ko": ko.SENTENCES}


def say(lang: str, key: str, **values: object) -> str:
    """The sentence `key` in `lang` (English where the language is not known)."""
    sentence = LANGUAGES.get(lang, en.SENTENCES)[key].format(**values)
    return sentence if lang == "ko" else en.counted(sentence)


def contract_word(lang: str, name: str) -> str | None:
    """A word of the contract (measured, likely, …) as every surface says it; None where it is none."""
    said = words(lang)
    word: str | None = said.KIND.get(name) or said.CONFIDENCE.get(name)
    return word
