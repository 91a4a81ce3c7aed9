"""The simulator and the calculator in a real browser."""

import re
import time

from playwright.sync_api import Page, expect


def test_it_opens_loaded_reserved_nearly_full_and_idle(page: Page) -> None:
    page.goto("/simulator")

    expect(page.locator("#m-memory")).to_have_text(re.compile("9[0-9] %"))
    expect(page.locator("#m-utilization")).to_have_text("0 %")
    expect(page.locator("#scene")).to_contain_text("memory full, util 0%: reserved KV pool, normal")


def test_requests_fill_the_pool_and_leave_the_memory_as_it_is(page: Page) -> None:
    page.goto("/simulator")
    before = page.locator("#m-memory").inner_text()
    page.get_by_role("button", name="Send requests").click()
    expect(page.locator("#m-utilization")).to_have_text("92 %")
    expect(page.locator("#bar .on-wide rect.c-kv-filled")).to_be_visible()

    assert before == page.locator("#m-memory").inner_text()


def test_afterwards_the_pool_is_empty_and_stays(page: Page) -> None:
    page.goto("/simulator?sent=8")
    page.get_by_role("button", name="Let them finish").click()

    expect(page.locator("#m-utilization")).to_have_text("0 %")
    expect(page.locator("#bar .on-wide rect.c-kv-pool")).to_be_visible()
    expect(page.locator("#bar .on-wide rect.c-kv-filled")).to_have_count(0)


def test_without_reservation_the_cache_grows_on_demand(page: Page) -> None:
    page.goto("/simulator")
    page.get_by_role("button", name="Do not reserve").click()
    expect(page.locator("#bar .on-wide rect.c-kv-pool")).to_have_count(0)
    empty = page.locator("#m-memory").inner_text()
    page.get_by_role("button", name="Send requests").click()

    expect(page.locator("#bar .on-wide rect.c-kv-pool")).to_be_visible()
    assert empty != page.locator("#m-memory").inner_text()


def test_what_does_not_fit_overflows_with_its_amount(page: Page) -> None:
    page.goto("/simulator?model=llama-3-70b")

    expect(page.locator("#bar .on-wide")).to_contain_text(re.compile(r"[0-9.]+ GiB over"))
    expect(page.locator("#scene")).to_contain_text("would not start")
    expect(page.locator("#scene")).not_to_contain_text("model loaded")
    expect(page.locator("#scene .sev-ok")).to_have_count(0)  # a card without it is well, this set-up is not


def test_the_address_reproduces_the_state(page: Page) -> None:
    page.goto("/simulator")
    page.get_by_label("Requests", exact=True).fill("5")
    page.get_by_role("button", name="Send requests").click()
    expect(page.locator("#scene")).to_contain_text("5 requests running")
    again = page.url
    page.goto("about:blank")
    page.goto(again)

    expect(page.locator("#scene")).to_contain_text("5 requests running")


def test_a_click_is_answered_within_a_tenth_of_a_second(page: Page) -> None:
    page.goto("/simulator")
    page.get_by_role("button", name="Send requests").click()
    expect(page.locator("#m-utilization")).to_have_text("92 %")
    took = []
    for _ in range(7):
        start = time.perf_counter()
        assert page.request.get("/simulator/state?sent=8").ok
        took.append(time.perf_counter() - start)

    assert min(took) < 0.1  # the others may have waited for a busy machine


def test_the_buttons_work_without_javascript(unscripted: Page) -> None:
    unscripted.goto("/simulator")
    unscripted.get_by_role("button", name="Send requests").click()
    expect(unscripted.locator("#m-utilization")).to_have_text("92 %")

    unscripted.get_by_role("button", name="Unload the model").click()

    expect(unscripted.locator("#scene")).to_contain_text("free: nothing runs here")


def test_the_full_screen_link_shows_the_scene_alone(page: Page) -> None:
    page.goto("/simulator?full=1")

    expect(page.locator("header")).to_have_count(0)
    expect(page.locator("#scene")).to_be_visible()


def test_a_wrong_set_up_is_one_sentence(page: Page) -> None:
    page.goto("/simulator")
    page.get_by_label("Model").fill("no-such-model")
    page.get_by_label("Model").press("Tab")

    expect(page.locator("#problem")).to_contain_text("no-such-model")


def test_the_curve_goes_on_second_by_second(page: Page) -> None:
    page.goto("/simulator")
    line = page.locator("#timeline .on-wide path.s-line")
    before = line.get_attribute("d")
    page.get_by_role("button", name="Send requests").click()

    expect(line).not_to_have_attribute("d", before or "")


def test_the_page_says_what_is_calculated_and_what_is_simulated(page: Page) -> None:
    page.goto("/simulator")

    expect(page.locator("main")).to_contain_text("Calculated: weights")
    expect(page.locator("main")).to_contain_text("92 % under load is only an example")


def test_the_form_calculates_the_known_example(page: Page) -> None:
    page.goto("/kv")
    page.get_by_label("Model").fill("llama-3-8b")
    page.get_by_label("Tokens per request").first.fill("8192")
    page.get_by_label("Requests").first.fill("32")
    page.get_by_role("button", name="Calculate").click()

    expect(page.locator(".big")).to_have_text("32.0 GiB")
    expect(page.locator(".formula")).to_contain_text("131,072 B per token")


def test_the_form_answers_nonsense_with_a_sentence(page: Page) -> None:
    page.goto("/kv?model=llama-3-8b&tokens=-5")

    expect(page.get_by_role("alert")).to_contain_text("tokens")


def test_a_config_is_calculated_as_it_is(page: Page) -> None:
    page.goto("/kv")
    page.get_by_text("Calculate from a config.json instead").click()
    page.get_by_label("config.json").fill(
        '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 32,'
        ' "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "vocab_size": 128256,'
        ' "intermediate_size": 14336, "torch_dtype": "bfloat16"}'
    )
    page.locator("#config").get_by_role("button", name="Calculate").click()

    expect(page.locator(".formula")).to_contain_text("131,072 B per token")


def test_a_config_that_is_none_is_one_sentence(page: Page) -> None:
    page.goto("/kv")
    page.get_by_text("Calculate from a config.json instead").click()
    page.get_by_label("config.json").fill("not json")
    page.locator("#config").get_by_role("button", name="Calculate").click()

    expect(page.get_by_role("alert")).to_contain_text("JSON")


def test_the_keyboard_keeps_its_place(page: Page) -> None:
    page.goto("/simulator")
    page.get_by_role("button", name="Unload the model").focus()
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_text("Load the model")

    page.keyboard.press("Enter")

    expect(page.locator(":focus")).to_have_text("Unload the model")
