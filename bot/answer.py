"""One answer, before any surface: what is said, not how it looks.

`blocks` lays it out for Slack, `markdown` for terminals and web pages. Strings are prose in which a pair of
backticks marks code; renderers escape everything else, so that no string can do harm by what it holds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class By:
    """A sentence of ours that names a person by id. Only this type can become a mention, no string can."""

    before: str
    user: str
    after: str = ""


@dataclass(frozen=True)
class Evidence:
    """One observed fact and how it is known: measured, calculated, inferred, declared or simulated."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Step:
    """`on` names the host before the first command that has to be typed there: "on node-7:"."""

    text: str
    command: str = ""
    on: str = ""


@dataclass(frozen=True)
class Figure:
    """A labelled number: shown two beside each other where there is room."""

    label: str
    value: str
    kind: str = ""


@dataclass(frozen=True)
class Slice:
    """One part of a memory bar. `filled` is the share of it that is in use (0 to 1), where known."""

    label: str
    bytes: float
    role: str  # weights | kv_pool | overhead | other | free | outside
    filled: float | None = None


@dataclass(frozen=True)
class Bar:
    """Who holds a card's memory. Slices may exceed the total, and then the bar shows it."""

    slices: tuple[Slice, ...]
    total_bytes: float | None

    @property
    def over_bytes(self) -> float:
        used = sum(part.bytes for part in self.slices if part.role != "free")
        return max(0.0, used - self.total_bytes) if self.total_bytes else 0.0


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    left_out: int = 0


@dataclass(frozen=True)
class Confirm:
    title: str
    text: str
    yes: str
    no: str


@dataclass(frozen=True)
class Action:
    """Something to press. `command` is a sentence of the grammar; `does` is how it is carried out.

    ask: answer the command in this message's place · tell: answer it in a new message ·
    share: post the command's answer to the channel · link: open `url` ·
    chart: send a picture into the thread · change: mute, ack (needs permission).
    """

    label: str
    does: str
    command: str = ""
    url: str = ""
    primary: bool = False
    confirm: Confirm | None = None


@dataclass(frozen=True)
class Choice:
    """A menu of commands, such as "Why…" over the nodes of a fleet."""

    label: str
    options: tuple[tuple[str, str], ...]  # (label, command)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is answered. `headline` alone must be a full answer; everything else is why and what next."""

    headline: str
    lang: str = "en"
    state: str = ""  # a severity, or "" where none applies
    facts: tuple[str | By, ...] = ()
    bar: Bar | None = None
    paragraphs: tuple[str | By, ...] = ()
    figures: tuple[Figure, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    also: tuple[str, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    choice: Choice | None = None
    preformatted: str = ""
    key: str = ""  # names the state of a message that is edited later
    public: bool = False  # told to everybody in the channel, as changes are
    exit_code: int = 0  # of a program that says this: 2 not understood or refused, 3 not answered


def code(text: object) -> str:
    """A foreign string as a code span that it cannot leave."""
    return f"`{str(text).replace('`', 'ˋ')}`"
