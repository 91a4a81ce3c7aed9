"""The server's own commands speak the language of the person at the terminal."""

from __future__ import annotations

import re
import secrets
import socket
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from api.demo import welcome
from api.store.engine import named
from api.words import Sentence
from gpudiag.cli import main


@pytest.fixture(autouse=True)
def _korean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUDIAG_LANG", "GPUDIAG_CONFIG", "GPUDIAG_STORE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "ko_KR.UTF-8")


@pytest.fixture
def token(tmp_path: Path) -> list[str]:
    return ["token", "--store", f"sqlite:///{tmp_path}/store.sqlite3"]


def test_a_token_is_made_listed_and_revoked_in_korean(
    token: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*token, "create", "agent", "gpu-*"]) == 0
    made = capsys.readouterr()
    assert main([*token, "list"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert main([*token, "revoke", line.split()[0]]) == 0
    revoked = capsys.readouterr().out
    assert main([*token, "list"]) == 0

    assert made.out.startswith("gpudiag_")
    assert "저장소를 새로 만들었습니다" in made.err
    assert "역할 agent, 노드 gpu-*. 토큰은 지금 한 번만 보입니다" in made.err
    assert "gpu-* 패턴에 맞는 모든 노드의 이름으로 보고할 수 있습니다(아직 아는 노드가 없습니다)" in made.err
    assert "유효" in line
    assert revoked == f"{line.split()[0]} 토큰을 폐기했습니다\n"
    assert "폐기 20" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list"], "저장소가 없어 토큰도 없습니다"),
        (["create", "agent"], "에이전트의 토큰은 노드 하나나 이름 패턴에 묶입니다"),
        (["create", "agent", "**"], "어떤 노드든 될 수 있습니다"),
        (["create", "agent", "a b"], "노드 이름이 될 수 없습니다"),
        (["create", "reader", "node-3"], "reader 토큰은 노드에 묶이지 않습니다"),
        (["create", "reader", "--from", "/nowhere/token"], "/nowhere/token 파일을 읽을 수 없습니다"),
        (["create", "reader", "--out", "/nowhere/token"], "/nowhere/token 파일을 만들 수 없습니다"),
        (["create", "reader", "--out", "/dev/null"], "/dev/null 파일이 이미 있으며"),
        (["create", "reader", "--out", "-"], "새 파일의 이름을 주십시오"),
    ],
)
def test_what_makes_no_token_is_told_in_korean(
    token: list[str], capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main([*token, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_token_of_others_is_refused_in_korean(
    token: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weak, good = tmp_path / "weak", tmp_path / "good"
    weak.write_text("secret")
    good.write_text(secrets.token_hex(32))

    assert main([*token, "create", "agent", "node-3", "--from", str(good)]) == 0
    assert "토큰은 파일에 있습니다" in capsys.readouterr().err
    assert main([*token, "create", "reader", "--from", str(weak)]) == 2
    assert "32자 이상이어야 합니다" in capsys.readouterr().err
    assert main([*token, "create", "reader", "--from", str(good)]) == 2
    assert "번 토큰입니다(agent, 노드 node-3)" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told_in_korean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert main(["serve", "--port", str(port), "--store", f"sqlite:///{tmp_path}/store.sqlite3"]) == 3
    assert f"127.0.0.1 주소의 {port}번 포트는 이미 사용 중입니다" in capsys.readouterr().err


def test_the_demo_greets_in_korean() -> None:
    said = welcome("http://127.0.0.1:8000", "ko")

    assert "다른 터미널에서 이유를 물어보십시오" in said
    assert "gpudiag why node-7 --lang ko --api http://127.0.0.1:8000" in said


@pytest.mark.parametrize(
    ("driver_says", "sentence"),
    [
        ("attempt to write a readonly database", "읽기 전용입니다"),
        ("database or disk is full", "남은 공간이 없습니다"),
        ("database disk image is malformed", "손상되었습니다"),
        ("database is locked", "다른 프로세스가 사용 중입니다"),
        ("unable to open database file", "열 수 없습니다"),
        ("disk I/O error", "디스크를 읽거나 쓸 수 없습니다"),
        ("no such column: moon", "오류가 났습니다"),
    ],
)
def test_the_stores_trouble_is_told_in_korean(driver_says: str, sentence: str) -> None:
    error = named(sqlite3.OperationalError(driver_says), make_url("sqlite:////data/store.sqlite3"))

    assert error.said("ko").startswith("저장소 /data/store.sqlite3")
    assert sentence in error.said("ko")
    assert error.status == 503


@pytest.mark.parametrize("ready", ["serve.ready", "up.ready", "demo.ready"])
def test_the_question_that_a_server_proposes_is_answered_in_korean(ready: str) -> None:
    said = Sentence(ready, url="http://h", node="n", gpudiag="gpudiag").said("ko")

    assert ["ko"] == re.findall(r"curl '\S+[?&]lang=(\w+)'", said)
