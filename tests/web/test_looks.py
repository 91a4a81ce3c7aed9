"""What a reader's eyes need: letters that stand out and are large, order, room for odd names, paper."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from api.demo import Demo
from gpudiag.rules.situations import GIB
from tests.api.conftest import Api, ReportingNode
from tests.web.conftest import PHONE
from tests.web.test_pages import PAGES

LONG = "x" * 63
HOST = "dgx-b200-rack17-chassis04-sled02.prod.eu-west-1.compute.internal.example.com"
HIDDEN = ("utilization_percent", "memory_used_bytes", "memory_total_bytes")

PALE = (Path(__file__).parent / "pale.js").read_text()
CUT = (Path(__file__).parent / "cut.js").read_text()


@pytest.fixture(scope="module", params=["light", "dark"])
def shaded(request: pytest.FixtureRequest, demo: Demo, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(base_url=demo.url, color_scheme=request.param, locale="en-US")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    "path", [*PAGES, "/nodes/node-2", "/simulator?loaded=1&reserved=1&sent=1&model=llama-3-70b"]
)
def test_every_letter_stands_out_from_what_is_below_it(shaded: Page, path: str) -> None:
    shaded.goto(path)

    assert [] == shaded.evaluate(PALE)


@pytest.mark.parametrize(
    "path", ["/nodes/node-2", "/nodes/node-4", "/simulator", "/kv?model=llama-3-8b&gpu=H100"]
)
def test_the_letters_of_a_picture_stay_large_on_a_phone(phone: Page, path: str) -> None:
    phone.goto(path)
    sizes = phone.locator("svg.chart:visible text").evaluate_all(
        "all => all.map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )

    assert sizes
    assert [] == [size for size in sizes if size < 9.5]


@pytest.mark.parametrize("path", ["/nodes/node-6", "/nodes/node-7?lang=ko", "/runbooks/gpu-lost-bus"])
def test_no_option_of_a_command_is_broken_where_a_line_ends(phone: Page, path: str) -> None:
    phone.goto(path)
    parted = """all => all.flatMap(code => {
        const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), broken = [];
        for (let node; (node = walk.nextNode()); )
            for (const word of node.data.matchAll(/\\S+/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
                if (word[0].length < 24 && lines.size > 1) broken.push(word[0]);
            }
        return broken;
    })"""

    assert phone.locator(".steps pre code").count() > 0
    assert [] == phone.locator(".steps code").evaluate_all(parted)


@pytest.mark.parametrize(
    "path", ["/nodes/node-2", "/nodes/node-4?lang=ko", "/simulator", "/simulator?lang=ko"]
)
def test_no_letter_of_a_picture_is_cut_or_written_over_another(phone: Page, path: str) -> None:
    phone.goto(path)

    assert [] == phone.locator("svg.chart:visible").evaluate_all(CUT)


def test_the_heads_of_columns_stay_in_sight_while_a_fleet_is_scrolled(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 300})
    page.goto("/")
    page.mouse.wheel(0, 250)

    expect(page.get_by_role("columnheader", name="node")).to_be_in_viewport()
    expect(page.locator("h1")).not_to_be_in_viewport()


@pytest.mark.parametrize("path", PAGES)
def test_headings_leave_out_no_level(page: Page, path: str) -> None:
    page.goto(path)
    levels = page.locator(":is(h1, h2, h3, h4):visible").evaluate_all("all => all.map(h => +h.tagName[1])")

    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_paper_is_light_and_tells_what_a_screen_folds_away(browser: Browser, demo: Demo) -> None:
    context = browser.new_context(base_url=demo.url, color_scheme="dark", locale="en-US")
    page = context.new_page()
    page.goto("/nodes/node-4")
    folded = page.locator("#also-1 .inside")
    expect(folded).not_to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")

    expect(folded).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    context.close()


def test_the_list_of_rules_leads_to_each_family(page: Page) -> None:
    page.goto("/runbooks")
    families = page.locator("main h2").all_inner_texts()

    assert families == page.locator(".jump a").all_inner_texts()
    assert page.locator(".jump a").evaluate_all("all => all.every(a => document.querySelector(a.hash))")


# ----------------------------------------------------------------------------------------- odd nodes


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server whose nodes have long names, long commands, many GPUs, or hide what decides."""
    api = Api(f"sqlite:///{tmp_path_factory.mktemp('odd') / 'store.sqlite3'}").start()
    many, named, hidden = (
        ReportingNode(HOST, api, gpus=16),
        ReportingNode(LONG, api),
        ReportingNode("hidden", api),
    )
    for index in many.gpus:
        many.gpu(index).shows(memory_used_bytes=5 * index * GIB, utilization_percent=6.0 * index)
    many.runs({index: 3 * index * GIB for index in many.gpus}, pid=4194301, user="u" * 40,
              command="python3 -m train --data=/mnt/" + "checkpoints/" * 20)  # fmt: skip
    named.gpu(0).shows(memory_used_bytes=76 * GIB)
    named.runs({0: 70 * GIB}, pid=77, name="<script>" + "W" * 80, pod="p" * 60, namespace="n" * 60)
    hidden.gpu(0).hides(*HIDDEN)
    mute, silent = ReportingNode("mute", api), ReportingNode("silent", api)
    mute.gpu(0).hides("memory_used_bytes", "memory_free_bytes")
    silent.passes(minutes=2)
    for node in (many, named, hidden, mute):
        node.passes(minutes=5)
    yield api
    api.stop()


def at_odd(odd: Api, browser: Browser, viewport: ViewportSize) -> Page:
    assert odd.server is not None
    return browser.new_context(base_url=odd.server.url, viewport=viewport, locale="en-US").new_page()


@pytest.mark.parametrize("width", [PHONE["width"], 820, 1280])
@pytest.mark.parametrize(
    "path", ["/", f"/nodes/{HOST}", f"/nodes/{LONG}", "/nodes/hidden", f"/nodes/{LONG * 2}"]
)
def test_no_name_makes_a_page_wider_than_its_window(
    odd: Api, browser: Browser, path: str, width: int
) -> None:
    page = at_odd(odd, browser, {"width": width, "height": 800})
    page.goto(path)
    reached = page.evaluate("document.documentElement.scrollWidth")
    page.context.close()

    assert reached <= width


def test_where_nothing_decides_the_page_says_at_once_what_is_missing(odd: Api, browser: Browser) -> None:
    page = at_odd(odd, browser, PHONE)
    page.goto("/nodes/hidden")

    expect(page.locator(".unjudged")).to_be_visible()
    expect(page.locator(".unjudged")).to_contain_text("GPU utilization")
    missing = page.locator(".unjudged th[scope=row]").all_inner_texts()
    assert len(missing) == len(set(missing)), "each is told once, with all rules that wait for it"
    page.context.close()


def test_memory_that_nobody_read_is_not_drawn_as_free(odd: Api, browser: Browser) -> None:
    page = at_odd(odd, browser, PHONE)
    page.goto("/nodes/mute")

    expect(page.locator(".readings")).to_contain_text("– / 79.6 GiB")
    expect(page.locator("svg.chart", has=page.locator("rect.c-card"))).to_have_count(0)
    expect(page.locator(".ledger")).not_to_contain_text("free")
    page.context.close()


def test_a_silent_node_tells_of_when_its_numbers_are(odd: Api, browser: Browser) -> None:
    page = at_odd(odd, browser, PHONE)
    page.goto("/nodes/silent")

    expect(page.locator("h1")).to_contain_text("no report for")
    expect(page.locator(".gpus")).to_contain_text("nothing newer is known")
    page.context.close()


def test_a_command_is_read_whole_before_it_is_copied(odd: Api, browser: Browser) -> None:
    page = at_odd(odd, browser, {"width": 1280, "height": 800})
    page.goto("/nodes/silent")
    commands = page.locator(".steps pre")

    assert commands.count()
    assert commands.evaluate_all("all => all.every(pre => pre.scrollWidth <= pre.clientWidth)")
    page.context.close()


def test_what_else_is_seen_stands_worst_first(odd: Api, browser: Browser) -> None:
    page = at_odd(odd, browser, PHONE)
    page.goto(f"/nodes/{HOST}")
    severities = page.locator("details[id^=also] > summary .sev").all_inner_texts()
    page.context.close()

    assert {"warning", "info"} <= set(severities)
    assert severities == sorted(
        severities, key=["critical", "warning", "cannot tell", "info", "normal"].index
    )


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_server_without_nodes_shows_the_command_that_brings_one(
    tmp_path: Path, browser: Browser, lang: str
) -> None:
    api = Api(f"sqlite:///{tmp_path / 'store.sqlite3'}").start()
    page = at_odd(api, browser, PHONE)
    page.goto(f"/?lang={lang}")
    command = page.locator("main pre").inner_text()
    page.context.close()
    url = api.server.url if api.server else ""
    api.stop()

    assert command == f"gpudiag agent --api {url}"
