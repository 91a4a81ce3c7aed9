"""The grammar: what people type, in English and Korean, with what chat clients do to it."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.grammar import VERBS, read
from bot.request import Problem, Request, Target
from bot.sentence import duration
from bot.text import clean
from bot.when import exact
from bot.words import LANGUAGES, contract_word, say
from gpudiag.words import words as in_language


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", "status"),
        ("status", "status"),
        ("  Status  ", "status"),
        ("why node-3", "why node/node-3"),
        ("why node-3:2", "why node/node-3 gpu:2"),
        ("why node-3 gpu 2", "why node/node-3 gpu:2"),
        ("why node-3 at 15:40", "why node/node-3 at 15:40"),
        ("node-3", "why node/node-3"),
        ("node-3:1 10m ago", "why node/node-3 gpu:1 at 10m ago"),
        ("node-3 why", "why node/node-3"),
        ("why is node-3 so slow?", "why node/node-3"),
        ("“why” ‘node–3’", "why node/node-3"),
        ("why <http://node-3.example.com|node-3.example.com>", "why node/node-3.example.com"),
        ("why <https://node-3.example.com/>", "why node/node-3.example.com"),
        ("why ｎｏｄｅ－３", "why node/node-3"),
        ("<@U0BOT> why node-3", "why node/node-3"),
        ("why `node-3`", "why node/node-3"),
        ("why pod/vllm-0", "why pod/vllm-0"),
        ("why pod vllm-0", "why pod/vllm-0"),
        ("why job 48213", "why job/48213"),
        ("why job:48213", "why job/48213"),
        ("why pid 4121", "why pid/4121"),
        ("kv llama-3-8b 8192 x32", "kv llama-3-8b 8192 x32"),
        (
            "kv llama-3-8b 8k ×32 on H100 80GB kv=fp8 tp=2",
            "kv llama-3-8b 8192 x32 kv_dtype=fp8 tp=2 on H100 80GB",
        ),
        ("kv llama-3-8b on 2xRTX-4090", "kv llama-3-8b gpus=2 on RTX-4090"),
        ("kv llama-3-8b on 2x RTX 4090 32k x8", "kv llama-3-8b 32768 x8 gpus=2 on RTX 4090"),
        ("kv llama-3-8b 8,192 32x —tp=2", "kv llama-3-8b 8192 x32 tp=2"),
        ("kv meta-llama/Llama-3.1-8B 128k x1", "kv meta-llama/Llama-3.1-8B 131072 x1"),
        ("kv llama-3-8b x 32 8.5k", "kv llama-3-8b 8.5k x32"),
        ("kv 8192 llama-3-8b", "kv llama-3-8b 8192"),
        ("kv llama-3-8b 0 x-3", "kv llama-3-8b 0 x-3"),
        ("kv llama-3-8b -5", "kv llama-3-8b -5"),
        ("kv llama-3-8b 8,5", "kv llama-3-8b 8,5"),
        ("top node-3 by util", "top node/node-3 by=utilization"),
        ("idle 30", "idle 30"),
        ("idle GPUs for 2h", "idle 2h"),
        ("watch all", "watch all"),
        ("mute node-3 2h", "mute node/node-3 2h"),
        (
            "mute node-3 stuck-job 90m the fan is being replaced",
            "mute node/node-3 stuck-job 90m the fan is being replaced",
        ),
        ("ack f-0123456789ab on it", "ack f-0123456789ab on it"),
        ("runbook `stuck-job`", "runbook stuck-job"),
        ("노드 상태", "status"),
        ("상태", "status"),
        ("왜 node-3", "why node/node-3"),
        ("node-3은 왜 느려?", "why node/node-3"),
        ("node-3 왜 이래", "why node/node-3"),
        ("계산 llama-3-8b 8192 x32", "kv llama-3-8b 8192 x32"),
        ("node-3 감시", "watch node/node-3"),
        ("감시 목록", "watch list"),
        ("음소거 node-3 2시간", "mute node/node-3 2시간"),
    ],
)
def test_a_sentence_is_understood(typed: str, meant: str):
    request = read(typed)

    assert (request.text, request.problem) == (meant, None)


@pytest.mark.parametrize(
    ("typed", "suggestion"),
    [
        ("wyh node-3", "why node-3"),
        ("stauts", "status"),
        ("idel 45", "idle 45"),
        ("idle x", "idle 30"),
        ("mtue node-3 2h the fan", "mute node-3 2h the fan"),
        ("runbok stuck-job", "runbook stuck-job"),
        ("kv m 8192 kvv=fp8 x3", "kv m 8192 kv=fp8 x3"),
        ("kv llama-3-8b qwen3-8b x3", "kv llama-3-8b x3"),
        ("kv llama-3-8b 8192 32", "kv llama-3-8b 8192 x32"),
        ("kv llama-3-8b tp=2 tp=4 x3", "kv llama-3-8b tp=2 x3"),
        ("kv llama-3-8b tp= x3", "kv llama-3-8b x3"),
        ("kv llama-3-8b gpu=H100 on A100 x3", "kv llama-3-8b gpu=H100 x3"),
        ("진댠 node-3", "진단 node-3"),
    ],
)
def test_a_slip_gets_the_nearest_command_with_its_arguments(typed: str, suggestion: str):
    problem = read(typed).problem

    assert problem is not None
    assert problem.suggestion == suggestion


@pytest.mark.parametrize("typed", ["why", "kv", "watch", "mute", "ack", "runbook", "language", "chart", "왜"])
def test_a_missing_argument_is_told_apart(typed: str):
    assert read(typed).problem == Problem("missing")


def test_korean_words_ask_for_korean_and_lang_overrides():
    typed = ("왜 node-3", "왜 node-3 lang=en", "why node-3 lang=ko", "why node-3")

    assert [read(text).lang for text in typed] == ["ko", "en", "ko", None]


@pytest.mark.parametrize("typed", ["why node-3 here", "why node-3 !", "why node-3!", "왜 node-3 여기"])
def test_here_means_for_everybody(typed: str):
    assert (read(typed).here, read(typed).target) == (True, Target("node-3"))


def test_pasted_output_keeps_its_lines():
    assert read("explain | 0 |\n| 1 |").words == ("| 0 |\n| 1 |",)


@given(st.text(max_size=300))
def test_no_text_breaks_the_grammar(text: str):
    request = read(text)

    assert request.verb in {verb.name for verb in VERBS}
    assert "\x00" not in clean(text)


@given(
    st.sampled_from(["why", "top", "chart"]),
    st.from_regex(r"[a-z]{2,8}-[0-9]{1,3}", fullmatch=True).filter(
        lambda name: name.split("-")[0] not in ("gpu",)
    ),
    st.one_of(st.none(), st.integers(0, 15)),
)
def test_what_a_button_carries_is_understood_again(verb: str, node: str, gpu: int | None):
    request = read(f"{verb} {Target(node, gpu)}")

    assert (read(request.text).verb, read(request.text).target) == (verb, Target(node, gpu))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_an_example_that_works_and_a_line_of_help(verb):
    request = read(verb.example)

    assert (request.verb, request.problem) == (verb.name, None)
    assert all(say(lang, f"h.{verb.name}") for lang in ("en", "ko"))


NOW = datetime(2026, 11, 29, 16, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("15:40", "2026-11-29T15:40:00+00:00"),
        ("17:00", "2026-11-28T17:00:00+00:00"),
        ("yesterday 15:40", "2026-11-28T15:40:00+00:00"),
        ("어제 17:00", "2026-11-28T17:00:00+00:00"),
        ("10m ago", "2026-11-29T15:50:00+00:00"),
        ("10분 ago", "2026-11-29T15:50:00+00:00"),
        ("2 hours ago", "2026-11-29T14:00:00+00:00"),
        ("15시 40분", "2026-11-29T15:40:00+00:00"),
        ("2026-11-29T15:40Z", "2026-11-29T15:40:00+00:00"),
        ("2026-11-29 15:40", "2026-11-29T15:40:00+00:00"),
        ("2027-01-01", None),
        ("25:99", None),
        ("soon", None),
        ("999999d ago", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("", None),
    ],
)
def test_a_moment_is_made_exact(typed: str, meant: str | None):
    found = exact(typed, NOW)

    assert (found.isoformat() if found else None) == meant


def test_a_time_of_day_is_the_askers_own():
    found = exact("00:30", NOW, ZoneInfo("Asia/Seoul"))

    assert found == datetime(2026, 11, 29, 15, 30, tzinfo=UTC)


def test_durations():
    assert [duration(word) for word in ("2h", "30m", "1d", "90분", "2시간", "x")] == [
        7200,
        1800,
        86400,
        5400,
        7200,
        None,
    ]


def test_every_sentence_stands_in_both_languages_with_the_same_places():
    import string

    def places(sentences: dict[str, str]) -> dict[str, set[str]]:
        read = string.Formatter().parse
        return {key: {name for _, name, _, _ in read(text) if name} for key, text in sentences.items()}

    assert places(LANGUAGES["en"]) == places(LANGUAGES["ko"])
    assert all(text for sentences in LANGUAGES.values() for text in sentences.values())


def test_korean_puts_no_particle_on_a_placeholder():
    import re

    particle = re.compile(r"\}(?:은|는|이|가|을|를|과|와|으로|로)(?:\s|$)")

    assert [key for key, korean in LANGUAGES["ko"].items() if particle.search(korean)] == []


@pytest.mark.parametrize("unit", ["<http:", "<http:a|", "<@", '"', "`", "```\n", "1,", "a/", "은", "&lt;"])
def test_endless_text_is_read_in_no_time(unit: str):
    import time

    from bot.paste import from_text

    text = unit * (200_000 // len(unit))
    started = time.monotonic()
    for sentence in (text, f"explain {text}", f"why {text}"):
        read(sentence)
        from_text(sentence)

    assert time.monotonic() - started < 5


ODD_NAMES = ("slow", "list", "off", "all", "mem", "at", "here", "gpu", "pid", "ago", "why", "on",
             "node", "rack:2", "a--b", "2h", "job:7", "1.2.3.4", "stuck-job")  # fmt: skip


@pytest.mark.parametrize("verb", ["why", "chart", "top"])
@pytest.mark.parametrize("gpu", [None, 2])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_button_means_its_node_whatever_that_is_called(verb: str, gpu: int | None, name: str):
    asked = Request(verb, Target(name, gpu))

    assert read(asked.text) == asked


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_mute_button_means_its_node_and_a_moment_goes_with_why(name: str):
    muted = read(f"mute {Target(name).asked} stuck-job 1h")

    assert (muted.target, muted.seconds, muted.options) == (Target(name), 3600.0, {"rule": "stuck-job"})
    assert read(Request("why", Target(name, 1), at="2026-11-29T16:00:00Z").text).at == "2026-11-29T16:00:00Z"


def test_whose_process_it_is_stays_asked_for():
    asked = [Request("why", Target(name, kind=kind)) for name, kind in (("ml/a-0", "pod"), ("7", "job"))]

    assert [read(one.text) for one in asked] == asked


def test_an_order_stays_asked_for():
    assert read(read("top node-3 by util").text) == read("top node-3 by util")


def test_the_words_of_the_contract_are_the_terminals_in_both_languages():
    for lang in LANGUAGES:
        said = in_language(lang)
        for name, word in {**said.KIND, **said.CONFIDENCE}.items():
            assert contract_word(lang, name) == word
    assert contract_word("ko", "guessed") is None
