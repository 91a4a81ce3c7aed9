"""The table of options in docs/settings.md and docs/settings.ko.md, written from the settings' own table.

English is what the option's help says. The help speaks no Korean, so that stands here, under the option's
variable; an option without it fails the build.
"""

from __future__ import annotations

from pathlib import Path

from gpudiag.settings import OPTIONS, Option
from gpudiag.words import LANGUAGES, Language

HERE = Path(__file__).parent
PAGES: dict[Language, Path] = {"en": HERE / "settings.md", "ko": HERE / "settings.ko.md"}
BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"
HEADS: dict[Language, str] = {
    "en": "| table in the file | key | option | variable | what |",
    "ko": "| 파일의 테이블 | 키 | 옵션 | 변수 | 내용 |",
}
KOREAN = {
    "GPUDIAG_HOST": "요청을 받을 주소 (127.0.0.1)",
    "GPUDIAG_PORT": "요청을 받을 포트 (8000)",
    "GPUDIAG_BOT_PORT": "요청을 받을 포트 (3000)",
    "GPUDIAG_STORE": "sqlite:///PATH 또는 postgresql://… (기본값은 사용자 폴더의 파일)",
    "GPUDIAG_KEEP": "스냅샷을 보관하는 기간 (7d)",
    "GPUDIAG_PUBLIC_URL": "사람들이 접속하는 주소",
    "GPUDIAG_API": "API의 주소",
    "GPUDIAG_NODE": "이 노드의 이름 (호스트 이름)",
    "GPUDIAG_INTERVAL": "두 스냅샷 사이의 간격 (10s)",
    "GPUDIAG_TOKEN_FILE": "토큰이 든 파일",
    "GPUDIAG_SPOOL": "보내지 못한 스냅샷을 두는 폴더",
    "GPUDIAG_SPOOL_BYTES": "그 폴더의 최대 크기 (64 MiB)",
    "GPUDIAG_API_URL": "API의 주소",
    "GPUDIAG_BOT_STATE": "봇이 쓰는 작은 파일",
    "GPUDIAG_LANG": "답하는 언어: en 또는 ko",
}


def pages() -> dict[Path, str]:
    """Each page of settings with its table written anew."""
    return {PAGES[language]: page(language) for language in LANGUAGES}


def page(language: Language) -> str:
    before, _, rest = PAGES[language].read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    rows = [row(option, section, language) for option in OPTIONS for section in option.sections]
    return before + "\n".join([BEGIN, "", HEADS[language], "|---|---|---|---|---|", *rows, "", END]) + after


def row(option: Option, section: str, language: Language) -> str:
    variable = option.variable_in(section)
    what = option.help if language == "en" else KOREAN[variable]
    return f"| `[{section}]` | `{option.name}` | `{option.flag}` | `{variable}` | {what} |"
