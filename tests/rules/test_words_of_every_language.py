"""Whatever is said in English is said in every language: the same tables, the same keys, the same values."""

from __future__ import annotations

import errno
import os
import re
import ssl
from collections.abc import Iterable, Iterator
from string import Formatter
from types import ModuleType

import pytest

from api import words as server
from api.web import words as web
from bot import examples
from bot import words as bot
from docs import build, options
from gpudiag import words as answers
from gpudiag.kv import words as kv
from gpudiag.words import LANGUAGES, Language, pages, programs, units
from gpudiag.words.lines import lines
from gpudiag.words.refusals import in_language

OTHERS = [language for language in LANGUAGES if language != "en"]
Sentence = tuple[tuple[str, ...], frozenset[str]]


def sentences(table: object, *where: str) -> Iterator[Sentence]:
    """Every sentence of a table: where it stands, and the names of its values."""
    if isinstance(table, dict):
        for key, entry in table.items():
            yield from sentences(entry, *where, str(key))
    elif isinstance(table, str):
        yield where, frozenset(name for _, name, _, _ in Formatter().parse(table) if name)


def texts(table: object) -> Iterator[str]:
    if isinstance(table, dict):
        for entry in table.values():
            yield from texts(entry)
    elif isinstance(table, str):
        yield table


def tables(module: ModuleType) -> dict[str, object]:
    return {name: table for name, table in vars(module).items() if name.isupper()}


@pytest.mark.parametrize(
    "table",
    [
        pages.SECTIONS, units.WORDS, units.SPACE, kv.LANGUAGES, server.LANGUAGES, web.SENTENCES,
        bot.LANGUAGES, examples.WORDS, options.PAGES, build.TITLES,
    ],
    ids=["pages", "units", "spaces", "kv", "server", "web", "bot", "examples", "options", "reference"],
)  # fmt: skip
def test_every_folder_of_words_has_every_language(table: Iterable[str]) -> None:
    assert set(LANGUAGES) == set(table)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("part", [answers, programs], ids=["answers", "programs"])
def test_every_sentence_has_its_values_in_every_language(part: ModuleType, language: Language) -> None:
    english, other = (set(sentences(tables(part.words(name)))) for name in ("en", language))

    assert len(english) > 50
    assert english == other


@pytest.mark.parametrize("language", OTHERS)
def test_every_line_that_tells_little_is_told_in_every_language(language: Language) -> None:
    english, other = lines("en"), lines(language)

    assert list(english) == list(other)
    assert "" not in {text for said in (*english.values(), *other.values()) for text in said}


@pytest.mark.parametrize(
    "korean",
    [tables(answers.words("ko")), tables(programs.words("ko")), server.LANGUAGES["ko"]],
    ids=["answers", "programs", "server"],
)
def test_no_korean_particle_hangs_on_a_value(korean: dict[str, object]) -> None:
    particle = re.compile(r"}['\"`]?(이|가|을|를|은|는|와|과|으로|로|이며|이고)(?![가-힣])")

    assert [said for said in texts(korean) if particle.search(said)] == []


@pytest.mark.parametrize("name", programs.words("en").SYSTEM)
def test_what_the_system_says_is_said_as_it_says_it_or_in_korean(name: str) -> None:
    number = getattr(errno, name)
    error = OSError(number, os.strerror(number))

    assert os.strerror(number) == in_language(error, "en")
    assert programs.words("ko").SYSTEM[name] == in_language(error, "ko")


def test_what_the_system_says_without_words_of_ours_stays_as_it_is() -> None:
    assert os.strerror(errno.EXDEV) == in_language(OSError(errno.EXDEV, os.strerror(errno.EXDEV)), "ko")
    assert "certificate" in str(in_language(ssl.SSLError(1, "certificate verify failed"), "ko"))
