"""What the API refuses is said in the reader's language: what, where, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import api as package
from api.words import LANGUAGES
from gpudiag.client import ApiError, Client
from tests.api.conftest import Api, ReportingNode

HANGUL = re.compile("[가-힣]")
KEY = re.compile(
    r"\b(?:BadRequest|Unprocessable|NoSuch|Ambiguous|Unauthorized|Forbidden|TooOpen|BadBody|TooLarge|CutOff"
    r"|WrongEncoding|Crowded|FromElsewhere|Sentence|WrongOption|Weak|Taken|CannotListen|Store[A-Z]\w+"
    r'|Full|NotWritten|say|Voice\(\))(?:\(\s*|, )"([a-z0-9.-]+)"(?: if [\w ]+ else "([a-z0-9.-]+)")?'
)

REFUSALS: list[tuple[str, str, bytes | None, int, str]] = [
    ("GET", "/v1/nodes/nod-3", None, 404, "비슷한 이름: node-3"),
    ("GET", "/v1/nodes/pod:vllm-9", None, 404, "vllm-9 프로세스를 찾지 못했습니다"),
    ("GET", "/v1/nodes/node-3:7", None, 404, "GPU 7번이 없습니다"),
    ("GET", "/v1/nodes/node-3?at=soon", None, 400, "시각으로 읽을 수 없습니다"),
    ("GET", "/v1/nodes/node-3?at=2999-01-01T00:00:00Z", None, 400, "아직 오지 않았습니다"),
    ("GET", "/v1/nodes/node-3?at=3d", None, 404, "기록이 남아 있지 않습니다"),
    ("GET", "/v1/nodes/node-3?window=9d", None, 400, "하루보다 깁니다"),
    ("GET", "/v1/nodes/node-3?gpu=x", None, 400, "정수여야 합니다"),
    ("GET", "/v1/nodes/node-3/history?metrics=mood", None, 400, "기록이 없습니다"),
    ("GET", "/v1/nodes/node-3/history?span=long", None, 400, "0보다 긴 시간이어야 합니다"),
    ("GET", "/v1/nodes?severity=bad", None, 400, "쓸 수 있는 값: ok"),
    ("GET", "/v1/nodes?limit=0", None, 400, "1 이상 1000 이하"),
    ("GET", "/v1/findings?after=x", None, 400, "커서가 아닙니다"),
    ("GET", "/v1/nodes?severty=critical", None, 400, "'severty' 옵션은 없습니다. 쓸 수 있는 옵션: severity"),
    ("GET", "/v1/nodes?severity=info&severity=ok", None, 400, "severity 옵션이 여러 번 있습니다"),
    ("GET", "/v1/findings/f-000000", None, 404, "진단이 없습니다"),
    ("POST", "/v1/findings/f-000000/ack", b"{}", 404, "진단이 없습니다"),
    ("GET", "/diagnose?format=xml", None, 400, "쓸 수 있는 형식: json, text"),
    ("GET", "/v1/kv?model=llama-3-8b&format=xml", None, 400, "쓸 수 있는 형식: json, text"),
    ("GET", "/v1/nowhere", None, 404, "아무것도 없습니다"),
    ("DELETE", "/v1/rules", None, 405, "메서드를 쓸 수 없습니다"),
    ("POST", "/v1/mutes", b"{", 400, "올바른 JSON이 아닙니다"),
    ("POST", "/v1/mutes", b"[]", 422, "JSON 객체여야 합니다"),
    ("POST", "/v1/mutes", b'{"seconds":60}', 422, "텍스트가 필요합니다"),
    ("POST", "/v1/mutes", b'{"node":"node-3"}', 422, "seconds 항목이 없습니다"),
    ("POST", "/v1/mutes", b'{"node":"node-3","seconds":"x"}', 422, "0보다 긴 시간이어야 합니다"),
    ("POST", "/v1/mutes", b'{"node":"node-3","seconds":"90d"}', 422, "30일보다 깁니다"),
    ("POST", "/v1/mutes", b'{"node":"node-3","seconds":60,"rule":"no-rule"}', 422, "규칙이 없습니다"),
    ("POST", "/v1/mutes", b'{"node":"db-*","seconds":60}', 404, "패턴에 맞는 노드가 없습니다"),
    ("POST", "/v1/mutes", b'{"node":"node-9","seconds":60}', 404, "노드가 없습니다"),
    ("DELETE", "/v1/mutes/77", None, 404, "없거나 이미 끝났습니다"),
    ("POST", "/v1/nodes/node-3/maintenance", b"{}", 422, "seconds 항목이 없습니다"),
    ("POST", "/v1/nodes/node-3/maintenance", b'{"seconds":60,"why":7}', 422, "텍스트가 필요합니다"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "words"), REFUSALS)
def test_a_korean_reader_is_refused_in_korean(
    node: ReportingNode, method: str, path: str, body: bytes | None, status: int, words: str
) -> None:
    node.reports()

    korean = refused(node.api, method, path, body, "ko-KR,ko;q=0.9,en;q=0.5")
    english = refused(node.api, method, path, body, "en")

    assert status == korean["status"] == english["status"]
    assert korean["service"] == "gpudiag"
    assert words in korean["detail"]
    assert not HANGUL.search(english["detail"])


def refused(api: Api, method: str, path: str, body: bytes | None = None, languages: str = "") -> Any:
    headers = {"Content-Type": "application/json"} if body else {}
    with pytest.raises(ApiError) as caught:
        api.ask(method, path, body, {**headers, **({"Accept-Language": languages} if languages else {})})
    return caught.value.problem


def test_the_question_chooses_the_language_before_the_header_and_that_before_the_server(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    (tmp_path / "gpudiag.toml").write_text('[serve]\nlang = "ko"\n', encoding="utf-8")
    api = make_api(config=tmp_path / "gpudiag.toml")

    def korean(path: str, header: str = "") -> bool:
        return bool(HANGUL.search(refused(api, "GET", path, languages=header)["detail"]))

    assert korean("/v1/nodes/node-9")
    assert not korean("/v1/nodes/node-9", "en-GB")
    assert korean("/v1/nodes/node-9?lang=ko", "en-GB")
    assert not korean("/v1/nodes/node-9?lang=en", "ko")


def test_a_language_without_words_is_refused_in_one_that_has_them(api: Api) -> None:
    said = refused(api, "GET", "/v1/nodes?lang=fr", languages="ko")

    assert (400, True) == (said["status"], "쓸 수 있는 언어: en, ko" in said["detail"])


def test_whoever_has_no_right_token_is_told_so_in_korean(api: Api) -> None:
    reader, _ = api.parts.store.tokens.create("reader", None, "", api.clock.now)

    def asks(token: str) -> str:
        with Client(api.url, token) as client, pytest.raises(ApiError) as caught:
            client._ask("POST", "/v1/mutes?lang=ko", b"{}")
        return f"{caught.value.problem['status']}: {caught.value}"

    assert asks("gpudiag_nobodys").startswith("401: 여기서 모르는 토큰")
    assert asks(reader).startswith("403: 토큰의 역할은 reader입니다. 여기에는 admin 역할이 필요합니다. ")
    assert asks(reader).endswith("gpudiag token create admin")


def test_every_refusal_has_words_in_every_language() -> None:
    def places(sentence: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(sentence) if name}

    english = LANGUAGES["en"]
    for sentences in LANGUAGES.values():
        assert english.keys() == sentences.keys()
    for key, sentence in LANGUAGES["ko"].items():
        assert places(sentence) - {"status"} == places(english[key])
        assert HANGUL.search(sentence)


def test_every_sentence_is_said_somewhere_and_none_is_missing() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in Path(package.__path__[0]).rglob("*.py"))
    said = {key for found in KEY.findall(text) for key in found if key}
    said |= {key for key in LANGUAGES["en"] if key.startswith("http.")}

    assert LANGUAGES["en"].keys() == said


def test_the_pages_refuse_in_korean_too(node: ReportingNode) -> None:
    node.reports()

    def page(path: str) -> str:
        asked = Request(node.api.url + path, headers={"Accept": "text/html", "Accept-Language": "ko"})
        with pytest.raises(HTTPError) as caught:
            urlopen(asked)
        return caught.value.read().decode()

    assert '비슷한 이름: <a href="/nodes/node-3">node-3</a>' in page("/nodes/nod-3")
    assert "&#39;stuck-jop&#39; 규칙이 없습니다. 비슷한 이름: stuck-job" in page("/runbooks/stuck-jop")
    assert "<code>/nowhere</code> 주소에는 페이지가 없습니다." in page("/nowhere")
