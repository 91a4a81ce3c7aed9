"""Who sees the pages, and what hostile names may do there: a server with tokens, reached through a proxy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from api.app import create_app
from api.parts import parts_of
from api.server import Server
from gpudiag.client import Client
from gpudiag.model import ProcessReading
from gpudiag.rules.situations import Situation
from gpudiag.settings import Settings

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\x1b[31mred\x1b[0m\nsecond line",
    "{{ 7 * 7 }} [link](https://evil.example) `code`",
    "\u202egnp.exe",
)


@dataclass
class Guarded:
    """A running server, and a token that may read it."""

    url: str
    token: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder: Path = tmp_path_factory.mktemp("guarded")
    settings = Settings()
    app = create_app(replace(settings, serve=replace(settings.serve, store=f"sqlite:///{folder / 'store'}")))
    token, _ = parts_of(app).store.tokens.create("reader", None, "pages", time.time())
    server = Server(app, "127.0.0.1", 0).start()
    with Client(server.url) as client:
        client.send(hostile_node())
    yield Guarded(server.url, token)
    server.stop()


def hostile_node():  # type: ignore[no-untyped-def]
    """A node whose every name was chosen by somebody who means harm."""
    story = Situation(node="node-1", start=time.time() - 60)
    for number, text in enumerate(HOSTILE):
        story.runs(
            {0: 1 << 30}, pid=5000 + number, name=text, command=text, user=text, pod=text, namespace=text
        )  # fmt: skip
    story.all_gpus(name=HOSTILE[0], memory_used_bytes=6 << 30)
    story.logs(
        "xid", f"NVRM: Xid (PCI:0000:19:00): 31, name={HOSTILE[0]}", number=31, process=HOSTILE[1], gpu=0
    )
    story.reports()
    snapshot = story.window.latest
    assert snapshot is not None and isinstance(snapshot.processes[0], ProcessReading)
    return snapshot


@pytest.fixture
def outside(guarded: Guarded, browser: Browser) -> Iterator[Page]:
    """A browser behind a proxy: the request is not local any more."""
    context = browser.new_context(
        base_url=guarded.url, locale="en-US", extra_http_headers={"X-Forwarded-For": "203.0.113.9"}
    )
    yield context.new_page()
    context.close()


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def test_pages_ask_for_a_token_and_go_on_where_one_wanted_to_go(outside: Page, guarded: Guarded) -> None:
    outside.goto("/nodes/node-1?lang=en")
    expect(outside.locator("h1")).to_have_text("Log in")

    log_in(outside, guarded.token)

    expect(outside).to_have_url(f"{guarded.url}/nodes/node-1?lang=en")
    expect(outside.locator(".crumbs")).to_contain_text("node-1")


def test_a_wrong_token_is_told(outside: Page) -> None:
    outside.goto("/")
    log_in(outside, "guess")

    expect(outside.get_by_role("alert")).to_contain_text("not known here")


def test_the_cookie_is_out_of_reach_of_scripts(outside: Page, guarded: Guarded) -> None:
    outside.goto("/")
    log_in(outside, guarded.token)

    cookie = next(c for c in outside.context.cookies() if c["name"] == "gpudiag_token")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_logging_out_closes_the_pages(outside: Page, guarded: Guarded) -> None:
    outside.goto("/")
    log_in(outside, guarded.token)
    outside.get_by_role("button", name="Log out").click()
    outside.goto("/")

    expect(outside.locator("h1")).to_have_text("Log in")


def test_a_runbook_opens_on_a_phone_at_night(outside: Page) -> None:
    answer = outside.goto("/runbooks/gpu-lost-bus")

    assert answer is not None and answer.status == 200


@pytest.mark.parametrize(
    "goal", ["https://evil.example/", "//evil.example", "/\\evil.example", "/%09/evil.example"]
)
def test_the_login_never_leads_to_another_site(outside: Page, guarded: Guarded, goal: str) -> None:
    outside.goto(f"/login?next={goal}")
    log_in(outside, guarded.token)

    expect(outside).to_have_url(f"{guarded.url}/")


def test_hostile_names_are_shown_and_not_obeyed(guarded: Guarded, browser: Browser) -> None:
    context = browser.new_context(base_url=guarded.url, locale="en-US")
    page = context.new_page()
    try:
        for path in ("/", "/nodes/node-1"):
            page.goto(path)
            assert page.locator("main script, main img, main a[href*=evil]").count() == 0
            assert "owned" not in page.title()
        text = page.locator("main").inner_text()
    finally:
        context.close()

    assert HOSTILE[0] in text
    assert "{{ 7 * 7 }}" in text
    assert not any(character in text for character in "\x1b\u202e")


def test_markdown_is_given_where_it_is_asked_for(outside: Page) -> None:
    answer = outside.request.get("/runbooks/gpu-free", headers={"Accept": "text/markdown"})

    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.text().startswith("# ")


def test_every_answer_carries_the_strict_policy(outside: Page) -> None:
    policy = outside.request.get("/login").headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
