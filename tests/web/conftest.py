"""A real server with the demo's fleet behind it, and a real browser in front."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from api.demo import Demo
from gpudiag.settings import Settings
from tests.waiting import PATIENCE_SECONDS

expect.set_options(timeout=1000 * PATIENCE_SECONDS)

PHONE = ViewportSize(width=320, height=700)  # the narrowest; also a desktop at 400 % zoom
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder: Path = tmp_path_factory.mktemp("demo")
    settings = Settings()
    show = Demo(replace(settings, serve=replace(settings.serve, port=0)), folder)
    show.start()
    yield show
    show.stop()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Complaints(list[str]):
    """What the browser complained about: script errors, refused loads, anything its policy blocked."""


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def page(demo: Demo, browser: Browser, complaints: Complaints) -> Iterator[Page]:
    """A browser page at the demo; requests to anywhere else count as complaints."""
    context = browser.new_context(base_url=demo.url, viewport={"width": 1280, "height": 900}, locale="en-US")
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(demo.url) else complaints.append(asked.url))
    yield page
    context.close()


@pytest.fixture
def phone(demo: Demo, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(base_url=demo.url, viewport=PHONE, locale="en-US")
    yield context.new_page()
    context.close()


@pytest.fixture
def unscripted(demo: Demo, browser: Browser) -> Iterator[Page]:
    """A browser with JavaScript switched off."""
    context = browser.new_context(base_url=demo.url, java_script_enabled=False, locale="en-US")
    yield context.new_page()
    context.close()
