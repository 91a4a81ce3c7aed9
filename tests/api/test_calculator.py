"""The calculator over HTTP: for programs, for a terminal, and for models that the catalogue does not know."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudiag.client import Client, NotFound, Refused
from tests.api.conftest import Api
from tests.kv.configs import LLAMA_8B
from tests.waiting import PATIENCE_SECONDS

LLAMA = "/v1/kv?model=llama-3-8b&tokens=8192&requests=32&gpu=H100"


def asked(api: Api, path: str, **headers: str) -> tuple[str, str]:
    """(content type, body), with exactly these headers."""
    request = urllib.request.Request(api.url + path, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "application/json", "User-Agent": "curl/8.5.0"},
        {"Accept": "*/*", "User-Agent": "python-requests/2.32"},
        {"Accept": "*/*", "User-Agent": "curl/8.5.0"},
        {"User-Agent": "Go-http-client/1.1"},
    ],
)
def test_programs_get_json(api: Api, headers: dict[str, str]) -> None:
    kind, body = asked(api, LLAMA, **headers)

    assert kind == "application/json"
    assert json.loads(body)["total_bytes"] == 32 << 30


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (LLAMA.removeprefix("/v1"), {"Accept": "*/*", "User-Agent": "curl/8.5.0"}),
        (LLAMA, {"Accept": "text/plain", "User-Agent": "python"}),
        (f"{LLAMA}&format=text", {"Accept": "application/json"}),
    ],
)
def test_a_terminal_gets_the_text_with_its_bar(api: Api, path: str, headers: dict[str, str]) -> None:
    kind, body = asked(api, path, **headers)

    assert kind.startswith("text/plain")
    assert "32.00\u00a0GiB\u00a0KV\u00a0cache" in body or "32.00 GiB KV cache" in body
    assert "[" in body
    assert max(map(len, body.splitlines())) <= 80


def test_words_are_in_the_asked_language(api: Api) -> None:
    said = api.client.kv(model="llama-3-8b", tokens=8192, lang="ko")
    _, text = asked(api, f"{LLAMA}&lang=ko", Accept="text/plain")
    by_header = asked(api, LLAMA, **{"Accept": "application/json", "Accept-Language": "ko"})[1]

    assert any("가" <= letter <= "힣" for letter in "".join(said["assumptions"]))
    assert any("가" <= letter <= "힣" for letter in text)
    assert any("가" <= letter <= "힣" for letter in "".join(json.loads(by_header)["assumptions"]))


@pytest.mark.parametrize(
    "model", ["/etc/passwd", "http://127.0.0.1/config.json", "../../x", "file:///etc/hostname", "a/b/c", "-"]
)
def test_no_path_and_no_address_is_opened(api: Api, model: str) -> None:
    with pytest.raises(NotFound, match="is not in the catalogue"):
        api.client.kv(model=model)


def test_an_unknown_format_is_refused(api: Api) -> None:
    with pytest.raises(Refused, match="there are: json, text"):
        api.client.kv(model="llama-3-8b", format="xml")


# ---- models of the hub, in a server of its own: the library reads its variables when it is loaded


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """A hub cache that holds one model."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder = tmp_path / "hf" / "hub" / "models--acme--tiny-9b"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text(json.dumps(LLAMA_8B))
    return tmp_path / "hf"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """`gpudiag serve` in a process of its own."""
    running: list[tuple[subprocess.Popen[str], Client]] = []

    def start(**environment: str) -> Client:
        words = ["serve", "--port", "0", "--store", f"sqlite:///{tmp_path}/store.sqlite3"]
        code = "import sys; from gpudiag.cli import main; sys.exit(main(sys.argv[1:]))"
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*", **environment},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        client = Client(line.rpartition(" ")[2].strip())
        running.append((process, client))
        return client

    yield start
    for process, client in running:
        client.close()
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def test_a_model_of_the_local_hub_cache_is_read(serve: Callable[..., Client], cached: Path) -> None:
    client = serve(HF_HOME=str(cached), HF_HUB_OFFLINE="1")
    said = client.kv(model="acme/tiny-9b", tokens=1000)

    assert said["total_bytes"] == 131_072_000
    with pytest.raises(NotFound, match="nor in the local hub cache, and HF_HUB_OFFLINE is set"):
        client.kv(model="acme/none")


def read_in_time(name: str, seconds: float, **environment: str) -> tuple[str, float]:
    """What the hub's reader says, and how long a process that asks it lives."""
    code = (
        "import sys, time, huggingface_hub\n"
        "from gpudiag.hub import HubError, read_in_time\n"
        "began = time.monotonic()\n"
        "try: read_in_time(sys.argv[1], float(sys.argv[2]))\n"
        "except HubError as error: print(error)\n"
        "print(time.monotonic() - began)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name, str(seconds)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_PROXY": "*", **environment},
    )
    said, _, took = done.stdout.strip().rpartition("\n")
    return said, float(took)


def test_a_hub_that_never_answers_hangs_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        said, took = read_in_time("acme/none", 1.0, HF_ENDPOINT=address, HF_HOME=str(tmp_path))

    assert "the hub did not answer in 1 s" in said
    assert took < 8.0  # the library alone would wait for ten, several times
    assert time.monotonic() - began < 30.0


def test_a_config_by_post_is_calculated(api: Api) -> None:
    assert api.client.kv(config=LLAMA_8B, tokens=8192)["total_bytes"] == 1 << 30


def refused(api: Api, path: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, str]:
    """(status, what the problem says)."""
    request = urllib.request.Request(api.url + path, data=body, headers=headers)
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(request)
    with answer.value as problem:
        return problem.code, json.loads(problem.read())["detail"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/kv?model=llama-3-8b&tp=3&lang=ko", {}),
        ("/v1/kv?model=llama-3-8b&tp=3", {"Accept-Language": "ko-KR,ko;q=0.9,en;q=0.8"}),
        ("/kv?model=llama-3-8b&tp=3&lang=ko", {"Accept": "*/*"}),
    ],
)
def test_a_refusal_is_korean_where_korean_is_asked_for(api: Api, path: str, headers: dict[str, str]) -> None:
    status, said = refused(api, path, headers)

    assert status == 422
    assert said.startswith("tp: 어텐션 헤드 32개는 GPU 3장에 똑같이 나뉘지 않습니다.")


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/v1/kv?model=llama-3-8b&tp=2&tp=4", None, "tp: given twice, 2 and 4; give it once"),
        ("/v1/kv?model=llama-3-8b&tp=2&tp_size=4", None, "tp: given twice, 2 and 4; give it once"),
        ("/v1/kv?tp=2", b'{"model": "llama-3-8b", "tp": 4}', "tp: given twice, 2 and 4; give it once"),
        ("/v1/kv", json.dumps(LLAMA_8B).encode(), "config: this is a config.json by itself; put it under"),
    ],
)
def test_what_may_mean_two_things_is_refused(api: Api, path: str, body: bytes | None, sentence: str) -> None:
    status, said = refused(api, path, {}, body)

    assert status == 422
    assert said.startswith(sentence)


def test_options_in_the_address_of_a_post_count(api: Api) -> None:
    request = urllib.request.Request(
        api.url + "/v1/kv?tokens=1000", data=json.dumps({"config": LLAMA_8B}).encode()
    )
    with urllib.request.urlopen(request) as answer:
        assert json.loads(answer.read())["total_bytes"] == 131_072_000


def test_the_page_counts_options_that_its_form_does_not_have(api: Api) -> None:
    _, whole = asked(api, "/kv?model=llama-3-8b&tokens=8192", Accept="text/html")
    _, halved = asked(api, "/kv?model=llama-3-8b&tokens=8192&pp=2", Accept="text/html")

    assert ('class="big">1.0 GiB' in whole, 'class="big">512 MiB' in halved) == (True, True)
    assert 'name="pp" value="2"' in halved


def test_the_page_refuses_an_option_that_is_none(api: Api) -> None:
    request = urllib.request.Request(
        api.url + "/kv?model=llama-3-8b&contxt=9000&lang=en", headers={"Accept": "text/html"}
    )
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(request)
    with answer.value as page:
        assert (page.code, "contxt" in page.read().decode()) == (422, True)


def test_the_form_opens_for_whoever_asks_nothing_yet(api: Api) -> None:
    with urllib.request.urlopen(api.url + "/kv?lang=ko") as page:
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"


def test_a_config_that_is_none_is_refused_in_korean(api: Api) -> None:
    status, said = refused(api, "/v1/kv?lang=ko", {}, b'{"config": [1, 2]}')

    assert status == 422
    assert said == "config: JSON 객체가 필요합니다. 받은 값: 목록. 모델의 config.json을 보내십시오"


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"my GPU is slow", 422, "이 텍스트에서 읽을 수 있는 GPU 정보가 없습니다."),
        (bytes(5000), 415, "텍스트가 아니라 바이너리 데이터입니다."),
        (b" \n", 400, "텍스트가 없습니다."),
    ],
)
def test_pasted_text_is_refused_in_korean(api: Api, body: bytes, status: int, sentence: str) -> None:
    code, said = refused(api, "/diagnose", {"Accept-Language": "ko"}, body)

    assert code == status
    assert said.startswith(sentence)


def test_a_language_without_words_is_refused_once(api: Api) -> None:
    status, said = refused(api, "/v1/kv?model=llama-3-8b&lang=fr", {})

    assert status == 400
    assert "fr" in said
