"""A rule's page over HTTP: as Markdown, in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from gpudiag.words import words
from gpudiag.words.columns import WIDTH, cells
from tests.api.conftest import Api, ReportingNode


@pytest.mark.parametrize("accepted", ["text/markdown", "text/html;q=0.1, text/*"])
def test_a_runbook_as_markdown_holds_its_example_and_no_table_of_ours(api: Api, accepted: str) -> None:
    book = api.ask("GET", "/runbooks/persistence-off?lang=ko", headers={"Accept": accepted})

    assert "예시: 작업 사이에 GPU를 잡아 두는 것이 없습니다." in book
    assert "## 사례" not in book


@pytest.mark.parametrize(
    ("rule", "language", "told"),
    [
        ("persistence-off", "en", "measured: persistence mode: off"),
        ("persistence-off", "ko", "측정: persistence 모드: 꺼짐"),
        ("mig-mode-pending", "en", "MIG mode of GPU 0 is off now, and will be on after a reset."),
        ("mig-mode-pending", "ko", "지금 꺼짐, 리셋 후 켜짐"),
        ("agent-blind", "en", "declared: reads the kernel log: no"),
    ],
)
def test_a_mode_is_on_or_off_and_anything_else_yes_or_no(
    api: Api, rule: str, language: str, told: str
) -> None:
    book = api.ask("GET", f"/runbooks/{rule}?lang={language}", headers={"Accept": "text/markdown"})

    assert told in book


@pytest.mark.parametrize("accepted", ["text/plain", "*/*", "application/json, */*;q=0.1"])
def test_a_runbook_as_plain_text_fits_a_terminal(api: Api, accepted: str) -> None:
    book = api.ask("GET", "/runbooks/persistence-off?lang=en", headers={"Accept": accepted})

    assert "## What to do next" in book
    assert "<html" not in book
    assert max(cells(line) for line in book.splitlines() if "`" not in line) <= WIDTH


@pytest.mark.parametrize(
    "accepted", ["text/html", "text/html,application/xml;q=0.9,*/*;q=0.8", "text/plain;q=0.5, text/html"]
)
@pytest.mark.parametrize("path", ["/runbooks", "/runbooks/persistence-off"])
def test_a_browser_is_given_html(api: Api, path: str, accepted: str) -> None:
    assert "<html" in api.ask("GET", path, headers={"Accept": accepted})


def test_curl_is_given_korean_as_utf_8(api: Api) -> None:
    asked = Request(f"{api.url}/runbooks/persistence-off?lang=ko", headers={"Accept": "*/*"})
    with urlopen(asked) as answer:
        kind, book = answer.headers["Content-Type"], answer.read().decode()

    assert kind == "text/plain; charset=utf-8"
    assert "persistence 모드가 꺼져 있습니다" in book


@pytest.mark.parametrize(
    ("language", "line"), [("en", "persistence-off                info"), ("ko", "꺼져 있습니다.")]
)
def test_the_list_of_rules_by_curl_is_text(api: Api, language: str, line: str) -> None:
    listed = api.ask("GET", f"/runbooks?lang={language}", headers={"Accept": "*/*"})

    assert line in listed
    assert max(cells(line) for line in listed.splitlines()) <= WIDTH


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [("en", "xid%2079", " 1 of "), ("ko", "xid+79", " 1개\n"), ("en", "nothing-so-called", "0 of ")],
)
def test_rules_are_searched_by_curl_too(api: Api, language: str, asked: str, said: str) -> None:
    found = api.ask("GET", f"/runbooks?q={asked}&lang={language}", headers={"Accept": "*/*"})

    assert said in f" {found}"
    assert ("gpu-lost-bus" in found, "persistence-off" in found) == ("79" in asked, False)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_diagnosis_as_text_names_a_runbook_that_opens(api: Api, node: ReportingNode, language: str) -> None:
    node.serves_idle_vllm()
    node.passes(minutes=20)
    text = api.ask("GET", f"/diagnose/node-3?lang={language}", headers={"Accept": "text/plain"})
    named = re.search(rf"{words(language).LABEL['runbook']}: {api.url}(/runbooks/\S+)", text)
    assert named

    book = api.ask("GET", named[1], headers={"Accept": "text/plain"})

    assert named[1].removeprefix("/runbooks/") in book


def test_with_a_public_url_a_diagnosis_as_text_names_that(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    config = tmp_path / "gpudiag.toml"
    config.write_text('[serve]\npublic_url = "http://gpu.example.org"\n')
    api = make_api(config=config)
    ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=20)

    text = api.ask("GET", "/diagnose/node-3?lang=en", headers={"Accept": "text/plain"})

    assert "Runbook: http://gpu.example.org/runbooks/" in text
