"""The pages in a real browser, over the demo's fleet."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from api.demo import Demo

PAGES = (
    "/",
    "/nodes/node-3",
    "/nodes/node-4",
    "/explain",
    "/kv?model=llama-3-8b&tokens=8192&requests=32&gpu=H100",
    "/simulator",
    "/runbooks",
    "/runbooks?q=xid+79",
    "/runbooks/kv-pool-reserved-idle",
    "/chat?text=why+node-3",
    "/chat?text=status",
    "/chat?text=top+node-1",
    "/login",
)

SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
| N/A   31C    P0             69W /  700W |   76000MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            4121      C   VLLM::EngineCore                      75990MiB |
+-----------------------------------------------------------------------------------------+
"""


def test_the_fleet_is_worst_first(page: Page) -> None:
    page.goto("/")

    severities = page.locator("table.fleet .sev").all_inner_texts()
    order = ["critical", "warning", "cannot tell", "info", "normal"]
    assert severities == sorted(severities, key=order.index)
    assert severities[0] == "critical"


def test_a_node_of_the_fleet_leads_to_its_answer(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="node-3").click()

    expect(page.locator("h1")).to_contain_text("memory full, util 0%: reserved KV pool, normal")


def test_the_pool_is_one_part_with_its_filled_share_inside(page: Page) -> None:
    page.goto("/nodes/node-2")
    pool = page.locator("svg.chart rect.c-kv-pool").first.bounding_box()
    filled = page.locator("svg.chart rect.c-kv-filled").first.bounding_box()

    assert pool is not None and filled is not None
    assert pool["x"] <= filled["x"]
    assert filled["x"] + filled["width"] < pool["x"] + pool["width"]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_bar_calls_its_parts_as_the_list_below_it_does(page: Page, lang: str) -> None:
    page.goto(f"/nodes/node-3?lang={lang}")
    parts = page.locator("svg.chart rect:not(.c-kv-filled) > title").all_text_contents()
    listed = page.locator(".ledger").inner_text()

    assert len(parts) == 5
    assert [] == [part for part in parts if part.split(":")[0] not in listed]


def test_utilization_and_memory_are_one_picture(page: Page) -> None:
    page.goto("/nodes/node-3")
    picture = page.locator("svg.chart", has=page.locator("path.s-line"))

    expect(picture).to_have_count(1)
    expect(picture.locator("path.c-area")).to_have_count(1)
    expect(picture).to_contain_text("GPU utilization")


def test_gpus_that_show_the_same_are_told_once(page: Page) -> None:
    page.goto("/nodes/node-4")

    for column in (page.locator(".verdict, .words summary"), page.locator(".alike")):
        said = column.filter(has_text=re.compile("look busy"))
        expect(said).to_have_count(1)
        expect(said).to_contain_text("GPU 0-4, 6-7 look busy")
    expect(page.locator("details.gpu")).to_have_count(8)


def test_every_evidence_says_what_kind_of_number_it_is(page: Page) -> None:
    page.goto("/nodes/node-3")

    kinds = set(page.locator("table.evidence .kind").all_inner_texts())
    assert kinds <= {"simulated", "calculated", "declared", "inferred"}
    assert "simulated" in kinds


def test_where_evidence_was_read_is_said_in_the_readers_language(page: Page) -> None:
    page.goto("/nodes/node-6?lang=ko")

    expect(page.locator("table.evidence").first).to_contain_text("커널 로그")
    expect(page.locator("table.evidence").first).not_to_contain_text("kernel log")


def test_pasted_output_is_explained(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Tool output").first.fill(SMI)
    page.get_by_role("button", name="Explain").click()

    expect(page.locator("h1")).to_contain_text("KV pool")
    expect(page.locator(".processes")).to_contain_text("VLLM::EngineCore")


def test_text_without_a_gpu_is_answered_with_a_sentence(page: Page) -> None:
    page.goto("/explain")
    page.get_by_label("Tool output").first.fill("hello, world")
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_role("alert")).to_contain_text("nvidia-smi")


def test_a_pasted_card_without_a_number_is_called_by_its_address(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Tool output").first.fill(
        "Unable to determine the device handle for GPU0000:86:00.0: Unknown Error"
    )
    page.get_by_role("button", name="Explain").click()

    assert "GPU 0000:86:00.0" == page.locator(".gpuname b").inner_text()


@pytest.mark.parametrize("text", ["hello, world", "\n  two\nlines", "</textarea><script>alert(1)</script>"])
def test_a_paste_that_is_refused_stays_in_its_form(page: Page, complaints: list[str], text: str) -> None:
    page.goto("/")
    page.get_by_label("Tool output").first.fill(text)
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Tool output").first).to_have_value(text)
    assert [said for said in complaints if "422" not in said] == []


def test_of_a_long_paste_that_is_refused_the_form_keeps_the_beginning(page: Page) -> None:
    page.goto("/explain")
    page.evaluate("document.querySelector('textarea').value = 'hello, world '.repeat(50_000)")
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_role("alert")).to_contain_text("its beginning")
    assert len(page.get_by_label("Tool output").first.input_value()) == 200_000


def test_a_page_that_is_not_there_has_the_way_to_those_that_are(page: Page) -> None:
    page.goto("/nothing")

    expect(page.get_by_role("alert")).to_contain_text("There is no page at /nothing.")
    page.get_by_role("navigation").get_by_role("link", name="Rules").click()
    expect(page.locator("h1")).to_have_text("All rules")


def test_a_long_paste_is_read_whole(page: Page) -> None:
    page.goto("/explain")
    page.evaluate(
        "text => document.querySelector('textarea').value = text", "a line of a log\n" * 60_000 + SMI
    )
    page.get_by_role("button", name="Explain").click()

    expect(page.locator(".processes")).to_contain_text("VLLM::EngineCore")


def test_an_endless_paste_is_refused_with_a_sentence(page: Page) -> None:
    page.goto("/explain")
    page.evaluate("document.querySelector('textarea').value = 'x'.repeat(5 << 20)")
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_role("alert")).to_contain_text("larger than 4 MiB")


def test_the_fleet_as_findings_name_it_is_the_page_of_all_nodes(page: Page) -> None:
    page.goto("/nodes/fleet")

    assert page.url.endswith("/")
    expect(page.get_by_role("link", name="node-3")).to_be_visible()


def test_an_unknown_node_offers_the_nearest(page: Page) -> None:
    answer = page.goto("/nodes/node-33")

    assert answer is not None and answer.status == 404
    expect(page.locator("main").get_by_role("link", name="node-3", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).not_to_contain_text("did you mean")


def test_rules_are_found_while_one_types(page: Page, complaints: list[str]) -> None:
    page.goto("/runbooks")
    field = page.get_by_role("searchbox")
    field.press_sequentially("xid 79")

    expect(page.locator("#found th")).to_have_text(["gpu-lost-bus"])
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"^1 of \d+ rules$"))
    expect(field).to_be_focused()
    assert page.url.endswith("/runbooks?q=xid+79")
    page.get_by_role("link", name="한국어").click()
    expect(page.locator("#found th")).to_have_text(["gpu-lost-bus"])
    page.get_by_role("searchbox").fill("")
    expect(page.locator("#found h2").first).to_be_visible()
    assert complaints == []


def test_rules_are_found_without_javascript(unscripted: Page) -> None:
    unscripted.goto("/runbooks")
    unscripted.get_by_role("searchbox").fill("고아 프로세스")
    unscripted.get_by_role("button", name="Search").click()

    expect(unscripted.locator("#found th").first).to_have_text("orphaned-engine")
    expect(unscripted.get_by_role("searchbox")).to_have_value("고아 프로세스")


def test_a_search_that_finds_nothing_leads_back_to_all_rules(page: Page, complaints: list[str]) -> None:
    page.goto("/runbooks?q=%22><script>alert(1)</script>")

    expect(page.get_by_role("status")).to_contain_text(re.compile("^0 of"))
    page.locator("#found").get_by_role("link", name="All rules").click()
    expect(page.locator("#found h2").first).to_be_visible()
    assert complaints == []


def test_a_runbook_shows_the_numbers_of_its_worked_example(page: Page) -> None:
    page.goto("/runbooks/kv-pool-reserved-idle")

    expect(page.locator("article")).to_contain_text("Worked example")
    expect(page.locator("table.evidence").first).to_contain_text("75.0 GiB / 79.6 GiB")


def test_every_runbook_opens(page: Page) -> None:
    page.goto("/runbooks")
    addresses = page.locator("table.rules a").evaluate_all("links => links.map(link => link.href)")

    assert len(addresses) > 30
    assert [address for address in addresses if page.request.get(address).status != 200] == []


def test_the_language_follows_link_then_cookie_then_browser(page: Page) -> None:
    page.goto("/?lang=ko")
    expect(page.locator("h1")).to_have_text("전체 노드")

    page.goto("/nodes/node-3")

    expect(page.locator("h1")).to_contain_text("예약된 KV 풀")
    assert page.locator("html").get_attribute("lang") == "ko"


@pytest.mark.parametrize(
    ("path", "said"),
    [("/nodes/node-7?lang=en", ["on node-7:"]), ("/nodes/node-7?lang=ko", ["node-7 노드에서:"])],
)
def test_a_command_says_on_which_host_it_is_typed(page: Page, path: str, said: list[str]) -> None:
    page.goto(path)

    assert said == page.locator(".words > .steps .on").all_inner_texts()


def test_a_command_is_read_whole_on_a_phone(phone: Page) -> None:
    phone.goto("/runbooks/thermal-hw-slowdown")
    cut = phone.locator(".steps pre").evaluate_all(
        "found => found.filter(pre => pre.scrollWidth > pre.clientWidth).map(pre => pre.innerText)"
    )

    assert cut == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nodes/xyz", "There is no node 'xyz', nor a pod, job or pid of that name; these report: "),
        ("/kv?model=llama-3-8b&tokens=-5", "tokens: -5 is out of range"),
    ],
)
def test_what_is_refused_is_a_sentence_of_the_page(page: Page, path: str, said: str) -> None:
    page.goto(path)
    told = page.get_by_role("alert").inner_text()

    assert told.startswith(said)
    assert told.endswith(".")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_phone(phone: Page, path: str) -> None:
    phone.goto(path)

    assert phone.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_nobody_else_and_breaks_no_policy(page: Page, complaints: list[str], path: str) -> None:
    page.goto(path)
    page.wait_for_load_state("networkidle")

    assert complaints == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_reads_without_javascript(unscripted: Page, path: str) -> None:
    answer = unscripted.goto(path)

    assert answer is not None and answer.status == 200
    assert unscripted.locator("h1").count() == 1


@pytest.mark.parametrize("path", PAGES)
def test_every_field_has_a_name_and_every_picture_a_text(page: Page, path: str) -> None:
    page.goto(path)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea, svg[role=img]')]
        .filter(e => !e.labels?.length && !e.getAttribute('aria-label') && !e.querySelector('title'))
        .map(e => e.outerHTML.slice(0, 80))"""
    )

    assert nameless == []


def test_the_keyboard_reaches_the_content_first(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")

    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.locator("main :focus").count() == 1


def test_what_the_reader_opened_stays_open_when_the_page_renews_itself(page: Page) -> None:
    page.clock.install()
    page.goto("/nodes/node-4")
    page.locator("#gpu-3 > summary").click()
    page.locator("h1").click()
    with page.expect_response("**/nodes/node-4"):
        page.clock.fast_forward(11_000)
    page.wait_for_timeout(300)

    assert page.locator("#gpu-3").get_attribute("open") is not None


def test_the_chat_answers_as_the_bot_does(page: Page) -> None:
    page.goto("/chat")
    page.get_by_label("Message").fill("why node-7")
    page.get_by_role("button", name="Ask").click()

    expect(page.locator("article.answer")).to_contain_text("outlived its server")


def test_a_count_of_the_fleet_leads_to_those_nodes(page: Page) -> None:
    page.goto("/")
    page.locator(".counts a", has_text="warning").click()

    assert set(page.locator("table.fleet .sev").all_inner_texts()) == {"warning"}


def test_the_past_of_a_node_can_be_looked_at(page: Page) -> None:
    page.goto("/nodes/node-3")
    page.get_by_label("Look back").fill("45m")
    page.get_by_role("button", name="Look").click()

    expect(page.locator("h1")).not_to_contain_text("reserved KV pool")
    expect(page.locator(".facts").first).to_contain_text("As of")


def test_a_korean_browser_gets_korean(demo: Demo, browser: Browser) -> None:
    context = browser.new_context(base_url=demo.url, locale="ko-KR")
    page = context.new_page()
    page.goto("/")
    heading = page.locator("h1").inner_text()
    context.close()

    assert heading == "전체 노드"


def test_what_is_said_in_the_chat_is_not_obeyed(page: Page) -> None:
    page.goto("/chat")
    page.get_by_label("Message").fill('why <img src=x onerror="document.title=1">')
    page.get_by_role("button", name="Ask").click()

    assert page.locator("main img").count() == 0
    expect(page.locator("article.answer")).to_be_visible()
