"""Answer → Block Kit. The one place that lays out for Slack; `mrkdwn` escapes and cuts.

Pure functions that return {"text", "blocks"}; nothing here talks to Slack. Every limit is Slack's own:
https://docs.slack.dev/reference/block-kit
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.answer import Action, Answer, Bar, Choice, Confirm, Evidence, Figure, Step, Table
from bot.bar import bar_lines
from bot.mrkdwn import code_span, cut, escape, prose, sentence
from bot.text import one_line, without_hidden
from bot.words import contract_word, headed, say

Json = dict[str, Any]

GLYPHS = {"measured": "●", "calculated": "○", "inferred": "◇", "declared": "□", "simulated": "◌"}
EMOJI = {
    "ok": ":white_check_mark:",
    "info": ":information_source:",
    "warning": ":warning:",
    "critical": ":red_circle:",
    "unknown": ":grey_question:",
    "resolved": ":white_check_mark:",
    "gone": ":white_check_mark:",
}
SECTION, FIELD, HEADER, BUTTON, VALUE, FALLBACK = 2900, 1900, 150, 75, 2000, 3000
MOST_ROWS, MOST_OPTIONS, MOST_BUTTONS, MOST_TOGETHER, MOST_PACKS = 99, 100, 24, 10_000, 12
CELL = 120


def message(answer: Answer) -> Json:
    """The whole answer as one message. Where it would be too long, everything in it is cut alike."""
    for share in (1.0, 0.5, 0.2, 0.08):
        blocks = lay_out(answer, Room(share))
        if length(blocks) <= MOST_TOGETHER:
            break
    return {"text": fallback(answer), "blocks": blocks}


@dataclass(frozen=True)
class Room:
    """How much may stand in each place, in characters; `share` of what Slack would take."""

    share: float

    @property
    def section(self) -> int:
        return int(SECTION * self.share)

    @property
    def field(self) -> int:
        return int(FIELD * self.share)

    @property
    def line(self) -> int:
        return max(60, int(400 * self.share))

    @property
    def cell(self) -> int:
        return max(30, int(CELL * self.share))

    @property
    def rows(self) -> int:
        return max(10, int(MOST_ROWS * self.share))


def lay_out(answer: Answer, room: Room) -> list[Json]:
    blocks: list[Json] = [header(answer.headline)]
    if line := state_line(answer):
        blocks.append(context(cut(line, room.field)))
    if answer.bar:
        blocks.append(section(bar_text(answer.bar, answer.lang)))
    blocks += [section(text) for text in packed([sentence(text) for text in answer.paragraphs], room)]
    if answer.figures:
        blocks.append(fields(answer.figures, answer.lang, room))
    lists = (
        ("evidence", evidence_lines(answer.evidence, answer.lang, room)),
        ("also", [f"• {cut(prose(text), room.line)}" for text in answer.also]),
        ("next", step_lines(answer.steps, room)),
    )
    blocks += [section(titled(key, lines, answer.lang, room)) for key, lines in lists if lines]
    if answer.preformatted:
        blocks.append(section(preformatted(answer.preformatted)))
    if answer.table:
        blocks.append(table(answer.table, room))
    pressed = actions(answer.actions, answer.choice, answer.key)
    if pressed["elements"]:
        blocks.append(pressed)
    if answer.notes:
        blocks.append(context(cut("\n".join(prose(note) for note in answer.notes), room.field)))
    return blocks


def packed(texts: list[str], room: Room) -> list[str]:
    """Neighbouring sentences joined line by line, so that long lists stay few blocks."""
    packs: list[str] = []
    for text in (cut(text, room.section) for text in texts if text.strip()):
        if packs and len(packs[-1]) + len(text) < room.section // 2:
            packs[-1] += f"\n{text}"
        else:
            packs.append(text)
    return packs if len(packs) <= MOST_PACKS else [*packs[: MOST_PACKS - 1], "…"]


def length(node: Any) -> int:
    """Characters of all texts, as Slack adds them up for msg_blocks_too_long."""
    if isinstance(node, dict):
        own = len(node["text"]) if isinstance(node.get("text"), str) else 0
        return own + sum(length(value) for value in node.values() if not isinstance(value, str))
    return sum(length(item) for item in node) if isinstance(node, list) else 0


def home(answer: Answer) -> Json:
    """The same answer as the App Home view."""
    return {"type": "home", "blocks": message(answer)["blocks"]}


def short(text: str) -> Json:
    """A message of one sentence."""
    return {"text": cut(prose(text), FALLBACK)}


def fallback(answer: Answer) -> str:
    """What notifications and screen readers get: the answer and the next step in words, escaped too."""
    state = f"{headed(answer.lang, answer.state)}. " if answer.state else ""
    step = f" {say(answer.lang, 'next')}: {prose(answer.steps[0].text)}" if answer.steps else ""
    return cut(f"{prose(answer.headline)} {state}{step}".strip(), FALLBACK)


def state_line(answer: Answer) -> str:
    facts = [sentence(fact) for fact in answer.facts]
    if answer.state:
        facts.insert(0, f"{EMOJI.get(answer.state, '')} *{headed(answer.lang, answer.state)}*".strip())
    return cut("  ·  ".join(facts), FIELD)


def titled(key: str, lines: list[str], lang: str, room: Room) -> str:
    return cut("\n".join([f"*{say(lang, key)}*", *lines]), room.section)


def evidence_lines(evidence: tuple[Evidence, ...], lang: str, room: Room) -> list[str]:
    """Each line carries its kind as a word; the sign before it only helps the eye."""
    return [
        f"{GLYPHS.get(item.kind, '•')} {cut(prose(item.text), room.line)}{kind(item.kind, lang)}"
        for item in evidence
    ]


def kind(name: str, lang: str) -> str:
    if not name:
        return ""
    return f" _({contract_word(lang, name) or escape(one_line(name))[:30]})_"


def step_lines(steps: tuple[Step, ...], room: Room) -> list[str]:
    lines = []
    for number, step in enumerate(steps, 1):
        command = code_span(one_line(step.command).replace("`", "ˋ"))
        on = f" {prose(step.on)}" if step.on else ""
        told = f"{on} {command}" if step.command and step.command not in step.text else ""
        lines.append(f"{number}. {cut(prose(step.text), room.line * 3 // 2)}{cut(told, room.line)}")
    return lines


def preformatted(text: str) -> str:
    lines = "\n".join(escape(without_hidden(line).replace("`", "ˋ")) for line in text.splitlines())
    return cut(f"```\n{lines}\n```", SECTION)


def bar_text(bar: Bar, lang: str) -> str:
    """28 glyphs and the same numbers in words; what does not fit is drawn beyond the end and said."""
    return preformatted("\n".join(bar_lines(bar, lang)))


# Blocks.


def header(text: str) -> Json:
    return {"type": "header", "text": plain_text(one_line(text).replace("`", ""), HEADER)}


def section(text: str) -> Json:
    return {"type": "section", "text": mrkdwn(text)}


def context(text: str) -> Json:
    return {"type": "context", "elements": [mrkdwn(text)]}


def mrkdwn(text: str) -> Json:
    """`verbatim`: Slack makes no links of bare addresses and host names."""
    return {"type": "mrkdwn", "text": text if text.strip() else "-", "verbatim": True}


def plain_text(text: str, most: int) -> Json:
    text = one_line(text)
    return {
        "type": "plain_text",
        "text": (text if len(text) <= most else text[: most - 1] + "…") or "-",
        "emoji": False,
    }


def fields(figures: tuple[Figure, ...], lang: str, room: Room) -> Json:
    told = [
        cut(f"*{cut(prose(one.label), room.line)}*\n{prose(one.value)}{kind(one.kind, lang)}", room.field)
        for one in figures
    ]
    return {"type": "section", "fields": [mrkdwn(text) for text in told[:10]]}


def table(rows: Table, room: Room) -> Json:
    settings = [
        {"align": "right"} if index in rows.numeric else {"is_wrapped": True}
        for index in range(len(rows.columns))
    ]
    body = [list(rows.columns), *(list(row) for row in rows.rows[: room.rows])]
    return {
        "type": "table",
        "rows": [[{"type": "raw_text", "text": cell(text, room.cell)} for text in row[:20]] for row in body],
        "column_settings": settings[:20],
    }


def cell(text: str, most: int) -> str:
    text = one_line(text).replace("`", "")
    return (text if len(text) <= most else text[: most - 1] + "…") or "-"


def actions(pressed: tuple[Action, ...], choice: Choice | None, key: str = "") -> Json:
    """Buttons. Their action ids are unique in the message and say how they are carried out."""
    usable = [action for action in pressed if len(action.command) <= VALUE and len(action.url) <= 3000]
    elements = [button(action, number) for number, action in enumerate(usable[:MOST_BUTTONS])]
    if choice and (options := options_of(choice)):
        elements.append(menu(choice.label, options))
    named = {"block_id": one_line(key)[:255]} if key else {}
    return {"type": "actions", "elements": elements, **named}


def button(action: Action, number: int) -> Json:
    made: Json = {
        "type": "button",
        "action_id": f"{action.does}.{number}",
        "text": plain_text(action.label, BUTTON),
    }
    if action.url:
        made["url"] = action.url
    else:
        made["value"] = action.command
    if action.primary:
        made["style"] = "primary"
    if action.confirm:
        made["confirm"] = confirmation(action.confirm)
    return made


def confirmation(confirm: Confirm) -> Json:
    return {
        "title": plain_text(confirm.title, 100),
        "text": plain_text(confirm.text, 300),
        "confirm": plain_text(confirm.yes, 30),
        "deny": plain_text(confirm.no, 30),
    }


def options_of(choice: Choice) -> list[Json]:
    usable = [(label, command) for label, command in choice.options if len(command) <= 75]
    return [{"text": plain_text(label, BUTTON), "value": command} for label, command in usable[:MOST_OPTIONS]]


def menu(label: str, options: list[Json]) -> Json:
    return {
        "type": "static_select",
        "action_id": "tell.menu",
        "placeholder": plain_text(label, 150),
        "options": options,
    }


def explain_modal(metadata: str, lang: str) -> Json:
    """Where output is pasted or attached: the text box takes 3,000 characters, a file takes the rest."""
    return {
        "type": "modal",
        "callback_id": "explain",
        "private_metadata": metadata,
        "title": plain_text(say(lang, "m.title"), 24),
        "submit": plain_text(say(lang, "m.submit"), 24),
        "close": plain_text(say(lang, "m.close"), 24),
        "blocks": [
            {
                "type": "input",
                "block_id": "text",
                "optional": True,
                "label": plain_text(say(lang, "m.text"), 2000),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "text",
                    "multiline": True,
                    "max_length": 3000,
                },
            },
            {
                "type": "input",
                "block_id": "file",
                "optional": True,
                "label": plain_text(say(lang, "m.file"), 2000),
                "element": {"type": "file_input", "action_id": "file", "max_files": 1},
            },
        ],
    }
