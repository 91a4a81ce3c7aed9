"""What the watching keeps: a change told by the API, an episode (`Member`), and a message of them (`Card`).

Plain data without a clock or a chat system; it is stored as JSON and survives a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.numbers import moment

Json = dict[str, Any]

FLAPS, FLAP_SPAN = 3, 1800.0
LOUD = ("warning", "critical")
OPEN = ("open", "acknowledged")


@dataclass(frozen=True)
class Change:
    """One line of the API's findings: a rule on a node (or one of its GPUs) opened, changed or ended."""

    at: float
    node: str
    rule: str
    state: str  # open | acknowledged | resolved | gone
    finding: str = ""
    gpu: int | None = None
    severity: str = "warning"
    confidence: str = ""
    said: dict[str, list[str]] = field(default_factory=dict)  # language → [headline, first step]
    runbook_url: str = ""
    explains: tuple[str, ...] = ()
    by: str = ""
    why: str = ""
    simulated: bool = False
    quiet: str = ""  # muted or maintenance: people asked not to be told


ENDS = ("resolved", "gone", "acknowledged")


def change_of(item: Json, now: float) -> Change:
    """A line of `GET /v1/findings`: what happened, on which node, and the finding in words."""
    finding = item["finding"]
    when = moment(item.get("at"))
    what = str(item.get("what"))
    state = what if what in ENDS else str(finding.get("state") or "open")
    state = "open" if what == "opened" else state
    return Change(
        at=when.timestamp() if when else now,
        node=str(item["node"]),
        rule=str(finding["rule"]),
        state=state,
        finding=str(finding.get("id") or ""),
        gpu=finding.get("gpu"),
        severity=str(finding.get("severity") or "warning"),
        confidence=str(finding.get("confidence") or ""),
        said={"en": words_of(finding)},
        runbook_url=str(finding.get("runbook_url") or ""),
        explains=tuple(finding.get("explains") or ()),
        simulated=any(entry.get("kind") == "simulated" for entry in finding.get("evidence") or []),
        quiet=str(item.get("quiet") or ""),
    )


def words_of(finding: Json) -> list[str]:
    """The headline and the first step of a finding, as the API says them in the asked language."""
    steps = finding.get("next_steps") or []
    return [
        str(finding.get("headline") or finding["rule"]),
        str((steps[0] if steps else {}).get("text") or ""),
    ]


@dataclass
class Member:
    """One episode: a rule on a node, over all of its GPUs that show it."""

    node: str
    rule: str
    severity: str
    since: float
    said: dict[str, list[str]] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)  # id → state
    gpus: dict[str, int | None] = field(default_factory=dict)  # id → GPU
    confidence: str = ""
    runbook_url: str = ""
    explains: list[str] = field(default_factory=list)
    ended_at: float | None = None
    ended_as: str = ""
    opened_times: list[float] = field(default_factory=list)
    acknowledged_by: str = ""
    why: str = ""
    silent_since: float | None = None
    simulated: bool = False

    @property
    def state(self) -> str:
        if any(state == "open" for state in self.findings.values()):
            return "firing"
        if any(state == "acknowledged" for state in self.findings.values()):
            return "acknowledged"
        return self.ended_as or "resolved"

    @property
    def is_open(self) -> bool:
        return self.state in ("firing", "acknowledged")

    def headline(self, lang: str) -> str:
        return (self.said.get(lang) or self.said.get("en") or [self.rule])[0]

    def step(self, lang: str) -> str:
        return (self.said.get(lang) or self.said.get("en") or ["", ""])[1]

    def flapping(self, now: float) -> int:
        """How often it opened lately, when that is often; else 0."""
        lately = [at for at in self.opened_times if now - at < FLAP_SPAN]
        return len(lately) if len(lately) >= FLAPS else 0

    def take(self, change: Change) -> None:
        before = self.is_open
        self.findings[change.finding] = change.state
        self.gpus[change.finding] = change.gpu
        if change.state in OPEN:
            self.said, self.severity = {**self.said, **change.said}, change.severity
            self.explains = sorted({*self.explains, *change.explains})
            self.ended_at = None
            if not before:
                self.opened_times = [*self.opened_times[-19:], change.at]
        if change.state == "acknowledged":
            self.acknowledged_by, self.why = change.by or self.acknowledged_by, change.why or self.why
        if before and not self.is_open:
            self.ended_at, self.ended_as = change.at, change.state


@dataclass
class Card:
    """One message of one channel."""

    team: str
    channel: str
    key: str
    lang: str
    created: float
    members: list[Member]
    kind: str = "one"  # one | many (one rule, several nodes) | digest (several rules)
    ts: str | None = None
    shown: str = ""  # what the message says now, as a fingerprint
    sent_at: float = 0.0
    tries: int = 0

    @property
    def open_members(self) -> list[Member]:
        return [member for member in self.members if member.is_open]

    def fingerprint(self, blind_since: float | None) -> str:
        """Changes exactly when the message should."""
        told = [
            (
                *(m.node, m.rule, m.state, m.headline(self.lang), m.severity, m.acknowledged_by),
                *(m.silent_since is not None, len(m.opened_times), m.explains),
                sorted({str(gpu) for gpu in m.gpus.values()}),
            )
            for m in self.members
        ]
        return repr((self.kind, blind_since is not None, told))


def card_from(data: Json) -> Card:
    members = [Member(**member) for member in data["members"]]
    return Card(**{**data, "members": members})
