"""Words: how numbers, names and rules read in each language.

pages.py reads a rule's Markdown; units.py writes values; en.py and ko.py hold sentences that belong to no
rule; lines/: what a pasted line that tells little gets; foreign.py makes text that came from a machine safe
to show; programs/: what programs say of themselves, refusals.py: errors in every language. To add a
language: its name in `LANGUAGES`, and see CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal, get_args

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


def language_of(wanted: str | None) -> Language:
    """The language that a tag such as `ko-KR` or an Accept-Language header asks for; else English."""
    return language_in(wanted) or "en"


def language_in(wanted: str | None) -> Language | None:
    """The first language that is asked for and has words; None where none of them has."""
    for tag in (wanted or "").replace("_", "-").split(","):
        short = tag.strip().split(";")[0].split("-")[0].lower()
        for language in LANGUAGES:
            if short == language:
                return language
    return None


def language_at(terminal: Mapping[str, str], option: str | None = None) -> Language:
    """The language of a person at a terminal: `--lang`, else GPUDIAG_LANG, else the locale.

    `terminal` are its environment variables. One without words is English: an error is said all the same.
    """
    named = (terminal.get(name) for name in ("GPUDIAG_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))
    return language_of(option or next(filter(None, named), None))


@cache
def words(language: str) -> ModuleType:
    """The sentences of one language; English where it has none."""
    return import_module(f"{__name__}.{language if language in LANGUAGES else 'en'}")
