"""Answer → terminal text, Markdown and HTML: `gpudiag ask` and the demo's chat page.

The second renderer of the one Answer. As in `blocks`, foreign text cannot do harm: terminal escapes are gone,
HTML is escaped, Markdown signs mean nothing.
"""

from __future__ import annotations

import html
import re
import textwrap

from bot.answer import Answer, By, Evidence, Step, Table
from bot.bar import bar_lines
from bot.blocks import GLYPHS
from bot.text import one_line, without_hidden
from bot.words import contract_word, headed, say
from gpudiag.words.columns import cells, cut

SIGNS = re.compile(r"([\\*_~#\[\]<>|!&])")


def terminal(answer: Answer, width: int = 80, colour: bool = False) -> str:
    """Plain text of at most `width` columns; bold and colours only where asked for."""
    paint = PAINT if colour else dict.fromkeys(PAINT, "")
    lines = [f"{paint['bold']}{line}{paint['off']}" for line in wrapped(bare(answer.headline), width)]
    facts = [said(fact) for fact in answer.facts]
    if answer.state:
        facts.insert(0, f"{paint.get(answer.state, '')}{headed(answer.lang, answer.state)}{paint['off']}")
    if facts:
        lines += wrapped("  ·  ".join(facts), width)
    if answer.bar:
        lines += ["", *(f"  {line}" for line in bar_lines(answer.bar, answer.lang))]
    if answer.paragraphs:
        lines.append("")
    for text in answer.paragraphs:
        hang = "    " if isinstance(text, str) and text.startswith("`") else ""  # a command and what it does
        lines += [part for line in said(text).split("\n") for part in wrapped(line, width, hang)]
    if answer.figures:
        lines += [
            "",
            *(
                line
                for one in answer.figures
                for line in figure(one.label, one.value, one.kind, answer.lang, width)
            ),
        ]
    lines += block(answer, "evidence", [evidence(item, answer.lang) for item in answer.evidence], width)
    lines += block(answer, "also", [f"• {bare(text)}" for text in answer.also], width)
    lines += steps(answer, width)
    if answer.preformatted:
        lines += ["", *(f"  {without_hidden(line)}" for line in answer.preformatted.splitlines())]
    if answer.table:
        lines += ["", *table_lines(answer.table, width)]
    for note in answer.notes:
        lines += ["", *wrapped(bare(note), width)]
    return "\n".join(lines) + "\n"


PAINT = {
    "bold": "\033[1m", "off": "\033[0m", "ok": "\033[32m", "info": "\033[36m", "warning": "\033[33m",
    "critical": "\033[31m", "unknown": "\033[35m",
}  # fmt: skip


def bare(text: object) -> str:
    """One line without the marks of code spans."""
    return one_line(text).replace("`", "")


def said(text: str | By) -> str:
    if isinstance(text, By):
        return f"{text.before}{bare(text.user)}{text.after}"
    return "\n".join(bare(line) for line in text.split("\n"))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` cells; a Korean letter takes two."""
    out: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and cells(longer) > width:
            out.append(line.rstrip())
            longer = indent + word
        line = longer
    out.append(line)
    return [
        piece
        for line in out
        for piece in (textwrap.wrap(line, width) if len(line) > width else [line]) or [""]
    ]


def block(answer: Answer, title: str, lines: list[str], width: int) -> list[str]:
    if not lines:
        return []
    parts = [part for line in lines for part in wrapped(line, width - 2, "  ")]
    return ["", say(answer.lang, title), *(f"  {part}" for part in parts)]


def steps(answer: Answer, width: int) -> list[str]:
    """What to do next; a command stands on a line of its own and whole, to be copied."""
    lines = ["", say(answer.lang, "next")] if answer.steps else []
    for number, one in enumerate(answer.steps, 1):
        lines += [f"  {part}" for part in wrapped(f"{number}. {bare(one.text)}", width - 2, "   ")]
        if one.command and one.command not in one.text:
            lines += [f"     {bare(one.on)}"] if one.on else []
            lines.append(f"     $ {bare(one.command)}")
    return lines


def kind(name: str, lang: str) -> str:
    return f" ({contract_word(lang, name) or bare(name)})" if name else ""


def evidence(item: Evidence, lang: str) -> str:
    return f"{GLYPHS.get(item.kind, '•')} {bare(item.text)}{kind(item.kind, lang)}"


def figure(label: str, value: str, kind_name: str, lang: str, width: int) -> list[str]:
    pad = " " * max(1, 32 - cells(label))
    return wrapped(f"  {bare(label)}{pad}{bare(value)}{kind(kind_name, lang)}", width, " " * 34)


def table_lines(table: Table, width: int) -> list[str]:
    """Columns as wide as they need; the widest is cut until a line fits."""
    rows = [tuple(bare(text) for text in row) for row in (table.columns, *table.rows)]
    widths = [max(cells(row[index]) for row in rows) for index in range(len(table.columns))]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > 6:
        widths[widths.index(max(widths))] = max(6, min(max(widths) - 1, width))
    return [
        "  ".join(fit(text, widths[at], at in table.numeric) for at, text in enumerate(row)).rstrip()
        for row in rows
    ]


def fit(text: str, width: int, right: bool) -> str:
    text = cut(text, width)
    space = " " * (width - cells(text))
    return space + text if right else text + space


def markdown(answer: Answer) -> str:
    """CommonMark with a table; no HTML in it, whatever the answer holds."""
    lines = [f"### {inline(answer.headline)}", ""]
    facts = [inline(said_marked(fact)) for fact in answer.facts]
    if answer.state:
        facts.insert(0, f"**{headed(answer.lang, answer.state)}**")
    if facts:
        lines += [" · ".join(facts), ""]
    if answer.bar:
        lines += ["```", *bar_lines(answer.bar, answer.lang), "```", ""]
    for text in answer.paragraphs:
        lines += [inline(line) + "  " for line in said_marked(text).split("\n")]
    if answer.paragraphs:
        lines.append("")
    lines += [
        f"- **{inline(one.label)}**: {inline(one.value)}{marked_kind(one.kind, answer.lang)}"
        for one in answer.figures
    ]
    lines += titled(
        answer,
        "evidence",
        [f"- {inline(item.text)}{marked_kind(item.kind, answer.lang)}" for item in answer.evidence],
    )
    lines += titled(answer, "also", [f"- {inline(text)}" for text in answer.also])
    lines += titled(answer, "next", [marked_step(number, one) for number, one in enumerate(answer.steps, 1)])
    if answer.preformatted:
        lines += [
            "```",
            *(without_hidden(line).replace("`", "ˋ") for line in answer.preformatted.splitlines()),
            "```",
        ]
    if answer.table:
        lines += ["", *marked_table(answer.table)]
    lines += [f"\n{inline(note)}" for note in answer.notes]
    return "\n".join(lines).rstrip() + "\n"


def said_marked(text: str | By) -> str:
    return f"{text.before}`{bare(text.user)}`{text.after}" if isinstance(text, By) else text


def marked_kind(name: str, lang: str) -> str:
    found = inline(kind(name, lang))
    return f" {found}" if found else ""


def inline(text: object) -> str:
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}ˋ{parts[-1]}"]
    return "".join(
        f"`{part}`" if at % 2 and part else SIGNS.sub(r"\\\1", part) for at, part in enumerate(parts)
    )


def titled(answer: Answer, key: str, lines: list[str]) -> list[str]:
    return ["", f"**{say(answer.lang, key)}**", "", *lines] if lines else []


def marked_step(number: int, one: Step) -> str:
    if not one.command or one.command in one.text:
        return f"{number}. {inline(one.text)}"
    on = f" *{inline(one.on)}*" if one.on else ""
    return f"{number}. {inline(one.text)}{on} `{bare(one.command)}`"


def marked_table(table: Table) -> list[str]:
    head = [inline(bare(text)) for text in table.columns]
    rule = ["---:" if at in table.numeric else "---" for at in range(len(head))]
    body = [[inline(bare(text)) for text in row] for row in table.rows]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *body)]


def page(answer: Answer, site: str = "") -> str:
    """The answer as an HTML fragment, its actions as buttons that carry their command.

    Links into `site`, to which the page itself belongs, are made relative.
    """
    out = [f'<article class="answer" lang="{answer.lang}">', f"<h2>{spans(answer.headline)}</h2>"]
    facts = [spans(said_marked(fact)) for fact in answer.facts]
    if answer.state:
        state = html.escape(answer.state)
        facts.insert(0, f'<strong class="state {state}">{headed(answer.lang, answer.state)}</strong>')
    if facts:
        out.append(f'<p class="facts">{" · ".join(facts)}</p>')
    if answer.bar:
        shown = "\n".join(bar_lines(answer.bar, answer.lang))
        out.append(f'<pre class="bar">{html.escape(shown)}</pre>')
    out += [f"<p>{spans(said_marked(text))}</p>" for whole in answer.paragraphs for text in lines_of(whole)]
    if answer.figures:
        rows = "".join(
            f"<dt>{spans(one.label)}</dt>"
            f"<dd>{spans(one.value)}{html.escape(kind(one.kind, answer.lang))}</dd>"
            for one in answer.figures
        )
        out.append(f"<dl>{rows}</dl>")
    told = [
        f"{spans(item.text)} <em>{html.escape(kind(item.kind, answer.lang))}</em>" for item in answer.evidence
    ]
    out += listed(answer, "evidence", told, "ul")
    out += listed(answer, "also", [spans(text) for text in answer.also], "ul")
    out += listed(answer, "next", [html_step(one) for one in answer.steps], "ol")
    if answer.preformatted:
        out.append(f"<pre>{html.escape(answer.preformatted)}</pre>")
    if answer.table:
        out.append(html_table(answer.table, answer.headline))
    out += [f'<p class="note">{spans(note)}</p>' for note in answer.notes]
    out.append(html_actions(answer, site))
    out.append("</article>")
    return "\n".join(part for part in out if part)


def lines_of(text: str | By) -> list[str | By]:
    return list(text.split("\n")) if isinstance(text, str) else [text]


def spans(text: object) -> str:
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}ˋ{parts[-1]}"]
    escaped = (html.escape(part) for part in parts)
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(escaped))


def listed(answer: Answer, key: str, items: list[str], tag: str) -> list[str]:
    if not items:
        return []
    return [
        f"<h3>{say(answer.lang, key)}</h3>",
        f"<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>",
    ]


def html_step(one: Step) -> str:
    if not one.command or one.command in one.text:
        return spans(one.text)
    on = f" <em>{spans(one.on)}</em>" if one.on else ""
    return f"{spans(one.text)}{on} <code>{html.escape(one_line(one.command))}</code>"


def html_table(table: Table, name: str) -> str:
    """The table in a box of its own, which a narrow page scrolls."""

    def row(cells: tuple[str, ...], tag: str) -> str:
        made = (
            f"<{tag}{' class=n' if at in table.numeric else ''}>{spans(text)}</{tag}>"
            for at, text in enumerate(cells)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    whole = f"<table><thead>{row(table.columns, 'th')}</thead><tbody>{body}</tbody></table>"
    label = html.escape(one_line(name))
    return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{whole}</div>'


def html_actions(answer: Answer, site: str) -> str:
    """Only what a page can do by itself: asking again and following links."""
    made = []
    for action in answer.actions:
        label = html.escape(action.label)
        if action.does == "link" and action.url.startswith(("http://", "https://", "/")):
            made.append(f'<a class="button" href="{html.escape(action.url.removeprefix(site))}">{label}</a>')
        elif action.does in ("ask", "tell"):
            made.append(f'<button name="q" value="{html.escape(action.command)}">{label}</button>')
    for label, command in answer.choice.options if answer.choice else ():
        made.append(
            f'<button class="small" name="q" value="{html.escape(command)}">{html.escape(label)}</button>'
        )
    return f'<form class="actions" method="get">{"".join(made)}</form>' if made else ""
