"""The pages' own sentences: both languages say the same things."""

import re
from pathlib import Path

import pytest

import api.web
from api.web.words import SENTENCES

EN, KO = SENTENCES["en"], SENTENCES["ko"]
PAGES = Path(api.web.__file__).parent
TEMPLATES = "".join(path.read_text(encoding="utf-8") for path in (PAGES / "templates").rglob("*.html"))
PROGRAMS = "".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.py"))


def test_both_languages_have_every_sentence() -> None:
    assert EN.keys() == KO.keys()


@pytest.mark.parametrize("key", EN)
def test_both_languages_have_the_same_places_for_values(key: str) -> None:
    places = [sorted(re.findall(r"{\w+}", sentences[key])) for sentences in (EN, KO)]

    assert places[0] == places[1]


@pytest.mark.parametrize("key", sorted(set(re.findall(r"\bt\.([a-z_]+)", TEMPLATES))))
def test_every_sentence_that_a_page_says_exists(key: str) -> None:
    assert key in EN


@pytest.mark.parametrize("key", sorted(EN.keys() - {"too_large"}))
def test_every_sentence_is_said_somewhere(key: str) -> None:
    assert re.search(rf"\bt\.{key}\b", TEMPLATES) or f'["{key}"]' in PROGRAMS


@pytest.mark.parametrize("key", KO)
def test_no_korean_particle_hangs_on_a_value(key: str) -> None:
    assert not re.search(r"}(이|가|을|를|은|는|와|과|으로|로|이며|이고)(?![가-힣])", KO[key])
