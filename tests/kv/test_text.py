"""The answer for people: headline, formula, memory bar, verdict; English and Korean."""

import json
from pathlib import Path

import pytest

import gpudiag.kv.words
from gpudiag.kv.text import columns, render
from gpudiag.kv.words import words
from tests.kv.ask import ask

HERE = Path(gpudiag.kv.words.__file__).parent


@pytest.fixture
def overflowing():
    return ask("llama-3-8b", tokens=8192, requests=32, gpu="RTX-4090")


def bar_of(text):
    return next(line for line in text.splitlines() if line.startswith("["))


def test_the_first_line_is_the_answer():
    first = render(ask("llama-3-8b", tokens=8192, requests=32)).splitlines()[0]

    assert first == "meta-llama/Meta-Llama-3-8B · 32.00 GiB KV cache · 32 × 8,192 tokens"


def test_the_bar_shows_what_flows_over_the_cards_edge_in_full(overflowing):
    bar = bar_of(render(overflowing))
    inside, outside = bar[1:].split("|")
    card = overflowing.engine.setup.gpu_bytes
    used = overflowing.weights_bytes + overflowing.total_bytes

    assert {"="} == set(outside)
    assert len(inside + outside) / len(inside) == pytest.approx(used / card, rel=0.1)
    assert "over the card by" in render(overflowing)


def test_what_is_over_the_card_and_over_the_engines_share_are_told_apart():
    text = render(ask("qwen3-32b", tokens=8192, requests=8, gpu="RTX-4090", weights_dtype="int4"))

    assert "over the card by 11.73 GiB" in text
    assert "Does not fit: 14.06 GiB more than the engine may take." in text


def test_a_pool_is_one_slot_whose_inside_is_filled():
    bar = bar_of(render(ask("llama-3-8b", tokens=8192, requests=8, gpu="H100")))

    assert "=-" in bar
    assert "|" not in bar


def test_each_number_is_marked_with_its_kind():
    text = render(ask("llama-3-8b", tokens=8192, gpu="H100"))

    assert "calculated" in text
    assert "inferred" in text


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("width", [40, 80, 100])
def test_lines_keep_to_the_width_but_for_addresses(overflowing, language, width):
    lines = render(overflowing, language, width).splitlines()
    prose = [line for line in lines if "http" not in line and not line.startswith("- nvidia-smi")]

    if width >= 80:
        assert max(columns(line) for line in prose) <= width


def test_korean_answers_in_korean(overflowing):
    text = render(overflowing, "ko")

    assert "들어가지 않습니다" in text
    assert "가정" in text


def test_every_sentence_is_there_in_both_languages_with_the_same_numbers():
    from string import Formatter

    def places(table):
        return {
            key: sorted(name for _, name, _, _ in Formatter().parse(text) if name)
            for key, text in table.items()
        }

    assert places(words("en")) == places(words("ko"))


def test_every_remark_the_calculator_makes_has_a_sentence():
    import re

    code = " ".join(path.read_text() for path in HERE.parent.rglob("*.py"))
    keys = set(re.findall(r'note\(\s*"([a-z0-9-]+)"', code)) | {"share-of-free", "free-share", "tgi-share"}

    assert keys <= set(json.loads((HERE / "en.json").read_text()))


@pytest.mark.parametrize(
    ("requests", "language", "label"),
    [
        (1, "en", "longest context for 1 request "),
        (2, "en", "longest context for 2 requests"),
        (1, "ko", "요청 1개 기준 최대 길이"),
        (2, "ko", "요청 2개 기준 최대 길이"),
    ],
)
def test_one_request_is_no_plural(requests, language, label):
    answer = ask("llama-3-8b", tokens=8192, requests=requests, gpu="H100")

    assert label in render(answer, language)


def test_an_unknown_language_is_answered_in_english(overflowing):
    assert render(overflowing, "en") == render(overflowing, "xx")
