"""The calculator's bar in the chat, beside what `gpudiag kv` says of the same question."""

from __future__ import annotations

from typing import Any

import pytest

from bot.answer import Bar
from bot.answers import answer_text
from bot.answers.asking import Asking
from bot.answers.calculator import lay_out
from bot.bar import bar_lines
from bot.examples import ExampleApi
from bot.markdown import terminal
from bot.request import Request
from gpudiag.kv import Answer, Question, calculate
from gpudiag.kv.formula import size
from gpudiag.kv.text import render

QUESTIONS: list[dict[str, Any]] = [
    {"engine": "vllm"},
    {"engine": "vllm", "gpu_memory_utilization": 0.5},
    {"engine": "sglang"},
    {"engine": "tensorrt-llm"},
]


def calculated(**options: Any) -> Answer:
    asked = {"model": "llama-3.1-8b", "tokens": 8192, "requests": 8, "gpu": "H100"}
    return calculate(Question.from_mapping({**asked, **options}))


def drawn(answer: Answer, lang: str = "en") -> Bar:
    asking = Asking(ExampleApi(), lang=lang)
    bar = lay_out(answer.as_json(lang), Request("kv", words=(answer.model.name,)), "H100", asking).bar
    assert bar is not None
    return bar


def part(bar: Bar, role: str) -> float:
    return sum(one.bytes for one in bar.slices if one.role == role)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: " ".join(map(str, asked.values())))
def test_the_chat_calls_as_much_free_as_the_calculator(asked: dict[str, Any], lang: str) -> None:
    answer = calculated(**asked)
    free = part(drawn(answer, lang), "free")

    assert -(answer.over_capacity_bytes or 0) == free
    assert size(int(free)) in render(answer, lang)


@pytest.mark.parametrize(("lang", "said"), [("en", "· outside the pool"), ("ko", "· 풀 바깥")])
def test_what_the_engine_leaves_alone_is_a_part_of_its_own(lang: str, said: str) -> None:
    bar = drawn(calculated(gpu_memory_utilization=0.5), lang)

    assert bar.total_bytes == sum(one.bytes for one in bar.slices)
    assert part(bar, "outside") > (bar.total_bytes or 0) * 0.49
    assert any(said in line for line in bar_lines(bar, lang))


def test_over_the_pool_and_within_the_card_nothing_is_free() -> None:
    answer = calculated(gpu_memory_utilization=0.3)
    bar = drawn(answer)

    assert answer.fits is False
    assert (0, 0) == (part(bar, "free"), bar.over_bytes)


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "are in use now; this answer is for the whole card"), ("ko", "카드 전체")]
)
def test_of_a_node_it_is_said_what_is_in_use_there(lang: str, said: str) -> None:
    asking = Asking(api=ExampleApi(), lang=lang)
    gpu = asking.api.diagnosis("node-3", lang=lang)["gpus"][0]

    written = terminal(answer_text(f"kv llama-3-8b 8k on node-3 lang={lang}", asking))

    assert said in " ".join(written.split())
    assert f"{gpu['readings']['memory_used_bytes'] / 2**30:.1f} GiB" in written


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        (
            "en",
            "1.2 GiB a GPU of KV cache, does not fit on 2 × RTX-4090: 47.2 GiB a GPU more than the engine",
        ),
        ("ko", "KV 캐시 GPU당 1.2 GiB, 2 × RTX-4090 카드에 들어가지 않습니다"),
    ],
)
@pytest.mark.parametrize("options", [{"gpus": "2"}, {"tp": "2"}, {"tp": "2", "gpus": "2"}])
def test_on_several_gpus_the_bytes_are_of_each(options: dict[str, str], lang: str, said: str) -> None:
    answer = calculated(model="llama-3.1-70b", requests=1, gpu="RTX-4090", **options)
    request = Request("kv", words=("llama-3.1-70b",), options=options)
    headline = lay_out(answer.as_json(lang), request, "RTX-4090", Asking(ExampleApi(), lang=lang)).headline

    assert said in headline


def test_on_one_gpu_nothing_is_said_of_each() -> None:
    answer = calculated(requests=33)
    asking = Asking(ExampleApi())
    headline = lay_out(answer.as_json(), Request("kv", words=("llama-3.1-8b",)), "H100", asking).headline

    assert headline.endswith("8,192 tokens × 33 requests: 33.0 GiB of KV cache, fits on H100")
