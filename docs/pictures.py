"""Pictures of the web pages, in every language: `make pictures` writes them to docs/pictures/web/.

`python -m docs.pictures FOLDER` writes them elsewhere, to be looked at before. The pages are those of a demo
that starts on a free port and ends when its pictures are taken.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from api.demo import EXAMPLE, Demo
from docs.browser import browser
from gpudiag.settings import Settings
from gpudiag.words import LANGUAGES, Language

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OUT = Path(__file__).parent / "pictures" / "web"
WIDTH = 1100
SCALE = 0.75  # about as wide as a README is shown, so that nobody scales the text again
MARGIN = 24


class Picture(NamedTuple):
    """A page, and the element with which what matters of it ends."""

    name: str
    path: str
    last: str


PICTURES = (
    Picture("fleet", "/", "table.fleet"),
    Picture("node", f"/nodes/{EXAMPLE}", ".columns"),
)


def main(out: Path = OUT) -> int:
    with browser() as chromium, demo() as url:
        out.mkdir(parents=True, exist_ok=True)
        for picture in PICTURES:
            for language in LANGUAGES:
                print(take(chromium, url, picture, language, out))
    return 0


@contextlib.contextmanager
def demo() -> Iterator[str]:
    """The address of a demo that has its first answers."""
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="gpudiag-pictures-") as folder:
        show = Demo(replace(settings, serve=replace(settings.serve, port=0)), Path(folder))
        try:
            show.start()
            yield show.url
        finally:
            show.stop()


def take(chromium: Browser, url: str, picture: Picture, language: Language, out: Path) -> Path:
    """Draw the page from its top down to what matters last."""
    page = chromium.new_page(
        viewport={"width": WIDTH, "height": 800}, device_scale_factor=SCALE, color_scheme="light"
    )
    page.goto(f"{url}{picture.path}?lang={language}")
    last = page.locator(picture.last).bounding_box()
    if last is None:
        raise LookupError(f"{picture.path} shows no {picture.last}")
    path = out / f"{picture.name}.{language}.png"
    height = last["y"] + last["height"] + MARGIN
    page.screenshot(path=str(path), full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    page.close()
    return path


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
