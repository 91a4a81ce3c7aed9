"""Whatever is said in English is said in Korean too: the same tables, the same keys, the same values."""

from __future__ import annotations

import errno
import os
import re
import ssl
from collections.abc import Iterator
from string import Formatter
from types import ModuleType

import pytest

from api import words as server
from gpudiag import words as answers
from gpudiag.words import programs
from gpudiag.words.lines import lines
from gpudiag.words.refusals import in_language

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


@pytest.mark.parametrize("part", [answers, programs], ids=["answers", "programs"])
def test_every_sentence_has_its_values_in_every_language(part: ModuleType) -> None:
    english, korean = (set(sentences(tables(part.words(language)))) for language in ("en", "ko"))

    assert len(english) > 50
    assert english == korean


def test_every_line_that_tells_little_is_told_in_every_language() -> None:
    english, korean = lines("en"), lines("ko")

    assert list(english) == list(korean)
    assert "" not in {text for said in (*english.values(), *korean.values()) for text in said}


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
