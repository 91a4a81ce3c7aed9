"""The bot's own sentences, one file per language. What rules say comes from the API.

To add a language: one file with every key of en.py, and its line in `LANGUAGES`.
"""

from __future__ import annotations

from bot.words import en, ko

LANGUAGES = {"en": en.SENTENCES, "ko": ko.SENTENCES}


def say(lang: str, key: str, **values: object) -> str:
    """The sentence `key` in `lang` (English where the language is not known)."""
    sentence = LANGUAGES.get(lang, en.SENTENCES)[key].format(**values)
    return sentence if lang == "ko" else en.counted(sentence)


def contract_word(lang: str, name: str) -> str | None:
    """A word of the contract (measured, likely, …) in `lang`; None where it is not one of ours."""
    return LANGUAGES.get(lang, en.SENTENCES).get(name)
