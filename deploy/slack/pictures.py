"""Pictures of the main messages, as Slack shows them: `make pictures` writes them to docs/pictures/slack/.

`python -m deploy.slack.pictures FOLDER` writes them elsewhere, to be looked at before.

Drawn in Chromium from the very blocks the bot sends, with a style sheet that follows Slack's looks. They show
the layout; a client of Slack may differ in fonts and spacing.
"""
# ruff: noqa: E501  (a style sheet)

from __future__ import annotations

import html
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.examples import messages
from docs.browser import browser
from gpudiag.words import LANGUAGES

Json = dict[str, Any]
OUT = Path(__file__).parents[2] / "docs" / "pictures" / "slack"
SHOWN = {
    "why": "why-and-alert", "alert-firing": "why-and-alert", "fleet": "fleet", "kv": "kv", "kv-over": "kv",
    "alert-acknowledged": "alerts", "alert-resolved": "alerts", "alert-no-data": "alerts", "alert-many": "alerts",
    "stale": "trouble", "typo": "trouble", "unknown-node": "trouble", "top": "processes", "idle": "processes",
    "help": "help",
}  # fmt: skip
EMOJI = {
    "white_check_mark": "✅", "information_source": "ℹ️", "warning": "⚠️", "red_circle": "🔴", "grey_question": "❔",
}  # fmt: skip

STYLE = """
body { margin: 0; padding: 12px 20px; font: 15px/1.46 Lato, 'Noto Sans', 'Noto Sans KR', sans-serif; color: #1d1c1d;
       width: WIDTHpx; background: #fff; }
.message { display: flex; gap: 8px; padding: 10px 0; border-bottom: 1px solid #eee; }
.face { width: 36px; height: 36px; border-radius: 6px; background: #3d7a00; color: #fff; text-align: center;
        line-height: 36px; font-size: 13px; flex: none; }
.body { min-width: 0; flex: 1; } .who { font-weight: 900; } .app { background: #e8e8e8; border-radius: 3px;
        font-size: 10px; padding: 1px 4px; margin: 0 4px; color: #616061; } .time { color: #616061; font-size: 12px; }
.header { font-size: 18px; font-weight: 900; margin: 6px 0; } .section { margin: 6px 0; white-space: pre-wrap; }
.context { color: #616061; font-size: 13px; margin: 4px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.fields { display: grid; grid-template-columns: 1fr 1fr; gap: 8px 16px; white-space: pre-wrap; margin: 6px 0; }
code { color: #c01343; background: #f8f8f8; border: 1px solid #ddd; border-radius: 3px; padding: 1px 3px; font-size: 12px;
       overflow-wrap: anywhere; }
pre { background: #f8f8f8; border: 1px solid #ddd; border-radius: 4px; padding: 8px; font: 12px/1.5 'DejaVu Sans Mono',
      monospace; margin: 4px 0; white-space: pre-wrap; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0; }
.button { border: 1px solid #bbb; border-radius: 4px; padding: 4px 12px; font-weight: 700; font-size: 13px; }
.primary { background: #007a5a; color: #fff; border-color: #007a5a; } .select { color: #616061; font-weight: 400; }
table { border-collapse: collapse; margin: 6px 0; font-size: 14px; } td, th { border: 1px solid #ddd; padding: 6px 10px;
      text-align: left; vertical-align: top; } .whole { white-space: nowrap; } .right { text-align: right; } .mention { background: #f8f2d8; color: #1264a3; }
"""


def main(out: Path = OUT) -> int:
    with browser() as chromium:
        out.mkdir(parents=True, exist_ok=True)
        for lang in LANGUAGES:
            for name, width in (
                *((picture, 720) for picture in dict.fromkeys(SHOWN.values())),
                ("why-and-alert", 390),
            ):
                page = chromium.new_page(viewport={"width": width, "height": 400}, device_scale_factor=1)
                page.set_content(document(name, lang, width))
                path = out / f"{name}{'' if width == 720 else '-phone'}.{lang}.png"
                page.screenshot(path=str(path), full_page=True)
                print(path)
                page.close()
    return 0


def document(name: str, lang: str, width: int) -> str:
    said = messages(lang)
    shown = "".join(drawn(said[one]) for one, picture in SHOWN.items() if picture == name)
    return f"<meta charset=utf-8><style>{STYLE.replace('WIDTH', str(width - 40))}</style>{shown}"


def drawn(said: Json) -> str:
    blocks = "".join(block(one) for one in said["blocks"])
    who = '<span class="who">gpudiag</span><span class="app">APP</span><span class="time">16:00</span>'
    return f'<div class="message"><div class="face">GPU</div><div class="body">{who}{blocks}</div></div>'


def block(one: Json) -> str:
    match one["type"]:
        case "header":
            return f'<div class="header">{html.escape(one["text"]["text"])}</div>'
        case "section" if "fields" in one:
            return (
                f'<div class="fields">{"".join(f"<div>{text(field)}</div>" for field in one["fields"])}</div>'
            )
        case "section":
            return f'<div class="section">{text(one["text"])}</div>'
        case "context":
            return f'<div class="context">{"".join(text(element) for element in one["elements"])}</div>'
        case "actions":
            return f'<div class="actions">{"".join(element(each) for each in one["elements"])}</div>'
        case "table":
            return table(one)
    raise ValueError(f"no drawing for a {one['type']} block")


def element(one: Json) -> str:
    label = html.escape((one["text"] if "text" in one else one["placeholder"])["text"])
    kind = "button primary" if one.get("style") == "primary" else "button"
    return f'<span class="{kind}{" select" if one["type"] == "static_select" else ""}">{label}</span>'


def table(one: Json) -> str:
    settings = one.get("column_settings") or []
    rows = []
    for number, row in enumerate(one["rows"]):
        tag = "th" if number == 0 else "td"
        cells = []
        for at, cell in enumerate(row):
            setting = settings[at] if at < len(settings) else {}
            looks = "right " if setting.get("align") == "right" else ""
            looks += "" if setting.get("is_wrapped") else "whole"  # Slack wraps only where it is told to
            cells.append(f'<{tag} class="{looks.strip()}">{html.escape(cell["text"])}</{tag}>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def text(one: Json) -> str:
    """mrkdwn as Slack reads it: code first, then mentions, dates, emoji, bold and italics."""
    if one["type"] != "mrkdwn":
        return html.escape(one["text"])
    pieces = re.split(r"(```.*?```|`[^`\n]+`)", one["text"], flags=re.S)
    return "".join(marked(piece) for piece in pieces)


def marked(piece: str) -> str:
    if piece.startswith("```"):
        return f"<pre>{piece[3:-3].strip(chr(10))}</pre>"
    if piece.startswith("`"):
        return f"<code>{piece[1:-1]}</code>"
    piece = re.sub(r"<@(\w+)>", '<span class="mention">@somebody</span>', piece)
    piece = re.sub(
        r"<!date\^(\d+)[^|>]*\|[^>]*>", lambda m: f"{datetime.fromtimestamp(int(m[1]), UTC):%H:%M}", piece
    )
    piece = re.sub(r":(\w+):", lambda m: EMOJI.get(m[1], m[0]), piece)
    piece = re.sub(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", r"<b>\1</b>", piece)
    return re.sub(r"(?<![\w_])_([^_\n]+)_(?![\w_])", r"<i>\1</i>", piece)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
