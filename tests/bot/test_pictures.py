"""The timeline picture has its letters, whatever fonts the server has."""

from itertools import pairwise

import pytest

from bot import pictures
from gpudiag import charts
from gpudiag.words import LANGUAGES, units

NOBODY_HAS_IT = "\ue000"


def letter(one: str) -> bytes:
    return pictures.png(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" font-family="{charts.FONT}">'
        f'<text x="4" y="30" font-size="24">{one}</text></svg>'
    )


def words_of_a_picture(lang: str) -> str:
    """What a timeline may say, by its own drawing: each span of time, and the names of the curves."""
    seconds = [length for _, length in units.SPANS] + [0.5]
    said = [units.duration(length + 1, lang) for length in seconds]
    points = [(0.0, 50.0), (10.0, 50.0)]
    drawing = pictures.svg("", points, points, (0, 10), lang)
    inside = [after.split("<")[0] for _, after in pairwise(drawing.split(">")) if "</text" in after]
    return "".join(said + inside)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_picture_has_a_drawing_for_every_letter_of_its_words(lang: str) -> None:
    missing = letter(NOBODY_HAS_IT)
    letters = sorted(set(words_of_a_picture(lang)) - {" ", "&"})

    assert {"0", "%"} <= set(letters)
    assert [] == [one for one in letters if letter(one) == missing]
