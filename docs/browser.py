"""The browser that draws the pictures, once the fonts are there without which it draws boxes."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FONTS = {"ko": "fonts-noto-cjk", "und-zsye": "fonts-noto-color-emoji"}
"""What fontconfig calls a language → Debian's package for it. Emoji are the language und-zsye."""


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, headless; ends the program with a sentence where something it needs is not installed."""
    lacking = missing()
    if lacking:
        sys.exit(f"pictures: not drawn, missing: {', '.join(lacking)}. On Debian: apt-get install them.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


def missing() -> list[str]:
    """Packages that a picture needs and this machine has not."""
    lacking = [] if shutil.which("chromium") else ["chromium"]
    if not shutil.which("fc-list"):
        return [*lacking, "fontconfig", *FONTS.values()]
    return lacking + [package for language, package in FONTS.items() if not _has_font(language)]


def _has_font(language: str) -> bool:
    found = subprocess.run(["fc-list", f":lang={language}", "family"], capture_output=True, check=False)
    return bool(found.stdout.strip())
