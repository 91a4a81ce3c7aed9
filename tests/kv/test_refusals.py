"""Refusals in both languages: every sentence, and the ones people meet."""

from __future__ import annotations

import string

import pytest

from gpudiag.kv import KvError, Question, calculate
from gpudiag.kv.words import words

REFUSALS = sorted(key for key in words("en") if key.startswith("refused-"))


def placeholders(template: str) -> set[tuple[str, str]]:
    parsed = string.Formatter().parse(template)
    return {(name, spec or "") for _, name, spec, _ in parsed if name is not None}


@pytest.mark.parametrize("key", sorted(words("en")))
def test_both_languages_say_the_same_values(key: str) -> None:
    english, korean = words("en")[key], words("ko")[key]

    assert {name for name, _ in placeholders(english)} == {name for name, _ in placeholders(korean)}


def test_both_languages_have_the_same_sentences() -> None:
    assert words("en").keys() == words("ko").keys()


@pytest.mark.parametrize("key", REFUSALS)
def test_a_korean_refusal_glues_no_particle_to_a_value(key: str) -> None:
    sentence = words("ko")[key]
    glued = [part for part in sentence.split("}")[1:] if part and part[0] in "은는이가을를와과로"]

    assert glued == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"tp": 3},
            "tp: 어텐션 헤드 32개는 GPU 3장에 똑같이 나뉘지 않습니다. "
            "이 모델에 쓸 수 있는 tp: 1, 2, 4, 8, 16, 32",
        ),
        ({"tokens": 0}, "tokens: 0 값은 범위를 벗어났습니다. 1 이상 100,000,000 이하로 지정하십시오"),
        ({"tokens": "many"}, "tokens: 숫자가 필요합니다. 받은 값: 'many'"),
        (
            {"gpu": 0.001},
            "gpu: 0.001 GiB 값은 범위를 벗어났습니다. GPU 한 장의 메모리를 0.5~4096 GiB로 지정하십시오",
        ),
    ],
)
def test_a_wrong_option_is_named_in_korean(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(KvError) as refused:
        calculate(Question.from_mapping({"model": "llama-3-8b", **options}))

    assert sentence == refused.value.said("ko")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ([], "config: JSON 객체가 필요합니다. 받은 값: 목록. 모델의 config.json을 보내십시오"),
        (
            {"peft_type": "LORA"},
            "config: 어댑터(LoRA/PEFT)에는 자체 KV 캐시가 없습니다. 대신 질문할 모델: 기반 모델",
        ),
        ({"model_type": "rwkv7", "num_hidden_layers": 1}, "config: 0번 레이어는 모르는 종류입니다: 'rwkv7'."),
    ],
)
def test_a_wrong_config_is_named_in_korean(config: object, sentence: str) -> None:
    with pytest.raises(KvError) as refused:
        calculate(Question.from_mapping({}, config=config))

    assert refused.value.said("ko").startswith(sentence)


def test_a_language_without_words_gets_english() -> None:
    with pytest.raises(KvError) as refused:
        Question.from_mapping({})

    assert str(refused.value) == refused.value.said("fr")
