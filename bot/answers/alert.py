"""A card of the watching in words: firing, acknowledged, resolved, no data; one node or many."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.answer import Action, Answer, By, Step, code
from bot.answers.asking import Asking
from bot.answers.changes import person
from bot.answers.diagnosis import mute_action
from bot.cards import FLAP_SPAN, Card, Member
from bot.numbers import span
from bot.request import Request, Target
from bot.words import contract_word, state_word

MOST_LINES = 20


def of_card(card: Card, asking: Asking, now: float, blind_since: float | None = None) -> Answer:
    """The message of a card as it should stand now."""
    asking = replace(asking, lang=card.lang)
    if card.kind == "one" and len(card.members) == 1:
        return of_one(card, card.members[0], asking, now, blind_since)
    return of_many(card, asking, now, blind_since)


def of_one(card: Card, member: Member, asking: Asking, now: float, blind_since: float | None) -> Answer:
    silent = member.silent_since or blind_since
    state = member.state
    again = state == "firing" and len(member.opened_times) > 1
    key = "nodata" if silent and member.is_open else "again" if again else state
    headline = asking.say(f"a.{key}", headline=member.headline(asking.lang), where=where(member))
    is_open = member.is_open
    return Answer(
        headline=headline,
        lang=asking.lang,
        state=("unknown" if silent else member.severity) if is_open else state,
        facts=facts(member, asking, now, silent),
        paragraphs=(asking.say("a.explains", rules=", ".join(map(code, member.explains))),)
        if member.explains
        else (),
        steps=(Step(step),) if is_open and (step := member.step(asking.lang)) else (),
        actions=buttons(member, asking) if is_open else closing(member, asking),
        key=f"alert.{member.node}.{member.rule}.{key}.{len(member.opened_times)}"[:250],
    )


def where(member: Member) -> str:
    """node-7, or node-7 GPU 2, 5 (plain: it stands in a headline)."""
    gpus = sorted({gpu for gpu in member.gpus.values() if gpu is not None})
    return f"{member.node} GPU {', '.join(map(str, gpus))}" if gpus else member.node


def facts(member: Member, asking: Asking, now: float, silent: float | None) -> tuple[str | By, ...]:
    ended = member.ended_at is not None and not member.is_open
    began = asking.time(instant(member.since))
    told: list[str | By] = [asking.say("a.began" if ended else "since", time=began)]
    if member.ended_at is not None and ended:
        told.append(asking.say("a.after", span=span(member.ended_at - member.since, asking.lang)))
    told.append(asking.say("rule", rule=code(member.rule)))
    if member.confidence:
        word = contract_word(asking.lang, member.confidence) or member.confidence
        told.append(asking.say("confidence", confidence=word))
    if silent and member.is_open:
        told.append(asking.say("a.nodata.fact", time=asking.time(instant(silent))))
    if count := member.flapping(now):
        told.append(asking.say("a.flapping", count=count, span=span(FLAP_SPAN, asking.lang)))
    if member.acknowledged_by:
        told.append(acknowledged(member, asking))
    if member.why:
        told.append(asking.say("reason", reason=member.why))
    if member.simulated:
        told.append(asking.say("simulated.data"))
    return tuple(told)


def acknowledged(member: Member, asking: Asking) -> str | By:
    """Who is on it: a person of this workspace as a mention, anybody else by name."""
    if member.acknowledged_by.startswith("slack:"):
        return person("a.ackby", member.acknowledged_by.rpartition(":")[2], asking)
    return asking.say("a.ackby", who=code(member.acknowledged_by))


def instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def buttons(member: Member, asking: Asking) -> tuple[Action, ...]:
    gpus = set(member.gpus.values())
    only = next(iter(gpus)) if len(gpus) == 1 else None
    target = Target(member.node, only)
    found = [Action(asking.say("b.why"), "tell", Request("why", target).text)]
    waiting = [finding for finding, state in member.findings.items() if state == "open" and finding]
    if waiting:
        found.append(Action(asking.say("b.ack"), "change", f"ack {' '.join(waiting)}", primary=True))
    found.append(mute_action(Target(member.node), member.rule, asking))
    return (*found, *closing(member, asking))


def closing(member: Member, asking: Asking) -> tuple[Action, ...]:
    url = asking.link(member.runbook_url) if member.runbook_url else ""
    return (Action(asking.say("b.runbook"), "link", url=url),) if url else ()


def of_many(card: Card, asking: Asking, now: float, blind_since: float | None) -> Answer:
    """Several episodes in one message. Members that ended leave the list of open ones, and it says so."""
    still, first = card.open_members, card.members[0]
    nodes, open_nodes = len({m.node for m in card.members}), len({m.node for m in still})
    if card.kind == "digest":
        headline = asking.say("a.digest", count=len(card.members), open=len(still))
    elif not still:
        headline = asking.say("a.many.done", count=nodes, headline=first.headline(asking.lang))
    elif open_nodes < nodes:
        headline = asking.say(
            "a.many.left", open=open_nodes, count=nodes, headline=first.headline(asking.lang)
        )
    else:
        headline = asking.say("a.many", count=nodes, headline=first.headline(asking.lang))
    worst = "critical" if any(m.severity == "critical" for m in still) else "warning"
    lines = [line(m, card, asking, blind_since) for m in sorted(card.members, key=lambda m: not m.is_open)]
    more = (asking.say("more.left", count=len(lines) - MOST_LINES),) if len(lines) > MOST_LINES else ()
    waiting = [f for m in still for f, state in m.findings.items() if state == "open" and f]
    actions = [Action(asking.say("b.fleet"), "tell", "status")]
    if waiting and len(command := f"ack {' '.join(waiting)}") < 1900:
        actions.append(Action(asking.say("b.ack"), "change", command, primary=True))
    common = closing(first, asking) if card.kind == "many" else ()
    return Answer(
        headline=headline,
        lang=asking.lang,
        state=worst if still else "resolved",
        facts=(asking.say("since", time=asking.time(instant(min(m.since for m in card.members)))),),
        paragraphs=tuple(f"• {text}" for text in lines[:MOST_LINES]),
        notes=more,
        actions=(*actions, *common) if still else common,
        key=f"alert.{card.key}.{len(still)}.{len(card.members)}"[:250],
    )


def line(member: Member, card: Card, asking: Asking, blind_since: float | None) -> str:
    silent = member.is_open and (member.silent_since or blind_since)
    if silent or member.state == "firing":
        state = asking.say("s.nodata" if silent else "s.firing")
    else:
        state = state_word(asking.lang, member.state)
    headline = f": {member.headline(asking.lang)}" if card.kind == "digest" else ""
    return f"{code(where(member))}{headline} ({state})"
