"""One Korean word for one thing, whoever says it: rules, pages, bot, programs, calculator, guides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from api import words as server
from api.web.words import SENTENCES
from bot.words import LANGUAGES as BOT
from bot.words import state_word
from gpudiag import words as answers
from gpudiag.words import Language, programs

ROOT = Path(__file__).parents[2]

# The word that is said: others for the same thing, which are not.
INSTEAD_OF = {
    "임계값": "한계값|문턱값|기준값",
    "확인함": "접수됨|접수했",
    "심각, 경고, 알 수 없음": "즉시 조치|확인 필요|데이터 부족|판단 불가",
    "장비": "(?<!가상 )머신",
    "전체 노드": "플릿|플리트|전체 현황",
    "소유자": "주인",
    "진단": "파인딩|소견",
    "판단하다": "판정(하|합|했|한|할)",
    "기록": "이력|히스토리",
    "설명": "해설",
    "측정": "실측|계측",
    "dtype": "자료형|데이터 타입",
    "윈도우": "window 레이어",
    "접두사": "프리픽스",
    "복제본": "레플리카",
    "벤더": "제조사|공급업체",
    "샘플": "표본",
    "스냅샷": "스냅숏",
    "메트릭": "지표",
    "파드": "포드",
    "클럭": "클록",
    "슬로다운": "감속",
    "스로틀링": "쓰로틀링",
    "리매핑": "재매핑",
    "리셋": "재설정",
    "음소거": "뮤트",
    "오류": "에러",
    "메시지": "메세지",
    "폴더": "디렉터리|디렉토리",
    "라이선스": "라이센스",
    "트레이닝": "훈련",
    "텍스트": "(?<![가-힣])글(에서|에는|에|이|은|을|의|이지)?(?![가-힣])",
}

SENTENCES_OF_THEIR_OWN = {"filled", "lasts", "lookalikes", "simulated", "since"}


def texts(table: object) -> Iterator[str]:
    if isinstance(table, dict):
        for entry in table.values():
            yield from texts(entry)
    elif isinstance(table, str):
        yield table


def korean() -> dict[str, str]:
    """Everything that is said in Korean, by where it stands."""
    tables = {
        "answers": vars(answers.words("ko")),
        "programs": vars(programs.words("ko")),
        "server": server.LANGUAGES["ko"],
        "pages": SENTENCES["ko"],
        "bot": BOT["ko"],
        "calculator": json.loads((ROOT / "gpudiag/kv/words/ko.json").read_text("utf-8")),
    }
    said = {
        name: "\n".join(texts({k: v for k, v in table.items() if k[:1] != "_"}))
        for name, table in tables.items()
    }
    files = [*ROOT.glob("gpudiag/rules/*/*/ko.md"), *ROOT.glob("docs/*.ko.md"), ROOT / "README.ko.md"]
    return said | {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}


SAID = korean()


@pytest.mark.parametrize("word", INSTEAD_OF)
def test_a_thing_has_one_korean_word(word: str) -> None:
    other = re.compile(INSTEAD_OF[word])

    assert {where: found[0] for where, text in SAID.items() if (found := other.search(text))} == {}


@pytest.mark.parametrize("word", ["임계값", "장비", "소유자", "윈도우", "벤더", "샘플", "클럭", "리셋"])
def test_the_word_itself_is_said(word: str) -> None:
    assert [where for where, text in SAID.items() if word in text] != []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_pages_and_terminal_head_the_same_thing_alike(language: Language) -> None:
    pages, terminal = SENTENCES[language], answers.words(language).LABEL
    both = (pages.keys() & terminal.keys()) - SENTENCES_OF_THEIR_OWN

    assert {key: terminal[key] for key in both} == {key: pages[key] for key in both}


def test_the_calculator_names_the_kinds_of_numbers_as_all_do() -> None:
    calculator = json.loads((ROOT / "gpudiag/kv/words/ko.json").read_text("utf-8"))
    kinds = {kind: said for kind, said in answers.words("ko").KIND.items() if kind != "simulated"}

    assert kinds == {kind: calculator[kind] for kind in kinds}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_button_says_what_the_state_says(language: str) -> None:
    state, button = state_word(language, "acknowledged"), BOT[language]["b.ack"]

    assert state.lower().startswith(button.lower())


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    ("part", "of_the_bot"),
    [("weights", "p.weights"), ("kv_pool", "p.kv_pool.live"), ("runtime", "p.runtime"),
     ("other_process", "p.other_process"), ("unaccounted", "p.unaccounted")],
)  # fmt: skip
def test_the_parts_of_memory_have_one_name(language: str, part: str, of_the_bot: str) -> None:
    assert answers.words(language).PARTS[part] == BOT[language][of_the_bot]
