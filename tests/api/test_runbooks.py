"""A rule's page over HTTP: as Markdown, in the reader's language."""

from __future__ import annotations

import pytest

from tests.api.conftest import Api


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
