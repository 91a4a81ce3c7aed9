"""What people decide: acknowledge, mute, maintenance, forget a node. Who, when and why is kept."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from flask import Blueprint, Response, g, request

from api.access import needs
from api.answers import mute_json
from api.judging.together import FLEET, FLEET_ID
from api.parts import Parts, parts
from api.places import nodes_like
from api.problems import NoSuch, Unprocessable
from api.resources.asked import body_object, json_answer, language, text_of
from api.store.tokens import EVERY_NODE, is_pattern
from api.words import Sentence
from gpudiag.changes import OpenFinding
from gpudiag.explain import iso
from gpudiag.settings import seconds
from gpudiag.words.foreign import plain

decisions = Blueprint("decisions", __name__)

LONGEST_MUTE = 30 * 86_400.0
LONGEST_NAME = 255
MOST_MUTES = 1_000


def _who(body: dict[str, Any]) -> str:
    """Who decides: as the body says, beside whose token it was."""
    told = text_of(body, "by", "", 200) or plain(request.args.get("by", ""), 200).strip()
    if told and g.token is not None:
        told = f"{told} (by {g.who})"
    return (told or g.who)[:LONGEST_NAME]


def _span(body: dict[str, Any], least: float = 1.0) -> float:
    name = "seconds" if "seconds" in body else "for"
    given = body.get(name)
    if given is None:
        raise Unprocessable("seconds")
    try:
        ends = least == 0 and not isinstance(given, bool) and given in (0, "0", "0s")
        found = 0.0 if ends else seconds(given)
    except ValueError:
        raise Unprocessable("span", name=name, text=plain(given, 40)) from None
    if found > LONGEST_MUTE:
        raise Unprocessable("seconds.long", name=name, text=plain(given, 40))
    return found


@decisions.post("/v1/findings/<finding_id>/ack")
@needs("admin")
def acknowledge(finding_id: str) -> Response:
    """Somebody has seen it and takes care; it stays open."""
    here = parts()
    body = body_object()
    who, why = _who(body), text_of(body, "why", "", 2_000)
    here.writer.do(lambda: _acknowledge(here, finding_id, who, why))
    return json_answer(here.answers.finding(finding_id, language(here.settings.serve.lang)))


def _acknowledge(here: Parts, finding_id: str, who: str, why: str) -> None:
    episode = here.store.episodes.get(finding_id)
    if episode is None:
        raise NoSuch("finding", finding=plain(finding_id, 40))
    if episode.ended_at is not None:
        raise Unprocessable("finding.ended", finding=finding_id, at=iso(episode.ended_at))
    now = here.answers.now()
    about_many = here.judge.together.known(finding_id)
    if about_many is None and episode.node == FLEET and FLEET not in here.judge.nodes:
        about_many = episode.episode  # another process judges the fleet
    if about_many is not None:
        _acknowledge_of_fleet(here, about_many, now, who, why)
        return
    state = here.answers.node(episode.node)
    with state.lock:
        known = next((k for k in state.open.values() if k.finding.id == finding_id), None)
        if known is None:
            raise NoSuch("finding.closed", finding=finding_id)
        known.finding.state = "acknowledged"
        state.headlines = {}
        state.said.clear()
        with here.store.writing() as connection:
            here.store.lock_nodes(connection, [state.id])
            here.store.episodes.save(connection, state.id, known, None)
            here.store.episodes.touch(connection, state.id)
            state.version += 1
            here.store.decisions.record(connection, now, who, "ack", finding_id, why)
        here.judge.tell(state, known.finding, "acknowledged", now)


def _acknowledge_of_fleet(here: Parts, known: OpenFinding, now: float, who: str, why: str) -> None:
    """The same for what is about several nodes, or blames one among them."""
    finding = known.finding
    finding.state = "acknowledged"
    with here.store.writing() as connection:
        here.store.episodes.save(connection, FLEET_ID, known, None)
        here.store.decisions.record(connection, now, who, "ack", str(finding.id), why)
    told = here.store.episodes.feed(0, 1, finding_id=finding.id)
    here.judge.together.tell(finding, "acknowledged", now, told[0].source if told else "agent")
    state = here.judge.nodes.get(here.judge.together.host_of(finding) or "")
    if state is not None:
        with state.lock:
            for shown in state.checkup.findings if state.checkup else ():
                if shown.id == finding.id:  # as it was when the node was last judged
                    shown.state = "acknowledged"
            state.said.clear()


@decisions.get("/v1/mutes")
def mutes() -> Response:
    """Mutes that still hold."""
    here = parts()
    items = [mute_json(mute) for mute in here.store.decisions.mutes(here.answers.now())]
    return json_answer({"items": items, "next": None})


@decisions.post("/v1/mutes")
@needs("admin")
def mute() -> Response:
    """Keep a node, or one rule on it, quiet for a while. Judging goes on; only telling stops."""
    here = parts()
    body = body_object()
    node, lasts = text_of(body, "node", longest=253), _span(body)
    rule = text_of(body, "rule", longest=64) if body.get("rule") is not None else None
    _known(here, node)
    if rule is not None and rule not in here.answers.rules.by_id:
        raise Unprocessable("rule", rule=plain(rule, 64), hint=Sentence("rules"))
    who, why = _who(body), text_of(body, "why", "", 2_000)

    if len(here.store.decisions.mutes(here.answers.now())) >= MOST_MUTES:
        raise Unprocessable("mutes", most=MOST_MUTES)

    def act() -> Any:
        now = here.answers.now()
        with here.store.writing() as connection:
            made = here.store.decisions.mute(connection, node, rule, now, now + lasts, who, why)
            subject = f"{node} {rule or 'every rule'} until {iso(now + lasts)}"
            here.store.decisions.record(connection, now, who, "mute", subject, why)
        here.judge.feed.read_decisions()
        return made

    return json_answer(mute_json(here.writer.do(act)), 201)


def _known(here: Parts, node: str) -> None:
    """Raise NoSuch where a name, or a pattern of names, fits no node: it would keep nobody quiet."""
    if not is_pattern(node):
        here.answers.node(node)
    elif node != EVERY_NODE and not any(fnmatchcase(name, node) for name in here.judge.nodes):
        nearest, hint = nodes_like(here.judge, node)
        raise NoSuch("pattern", nearest, name=plain(node, 80), hint=hint)


@decisions.delete("/v1/mutes/<mute_id>")
@needs("admin")
def unmute(mute_id: str) -> Response:
    """End a mute now."""
    return _unmute(mute_id)


@decisions.delete("/v1/mutes")
@needs("admin")
def unmute_by_query() -> Response:
    """End the mute `?id=` now."""
    return _unmute(request.args.get("id", ""))


def _unmute(mute_id: str) -> Response:
    here = parts()
    who = _who({})

    def act() -> bool:
        now = here.answers.now()
        with here.store.writing() as connection:
            known = mute_id.isascii() and mute_id.isdigit() and len(mute_id) < 18
            ended = known and here.store.decisions.unmute(connection, int(mute_id), now)
            if ended:
                here.store.decisions.record(connection, now, who, "unmute", f"mute {mute_id}", "")
        here.judge.feed.read_decisions()
        return bool(ended)

    if not here.writer.do(act):
        raise NoSuch("mute", mute=plain(mute_id, 40))
    return json_answer({"ended": int(mute_id)})


@decisions.post("/v1/nodes/<node>/maintenance")
@needs("admin")
def maintain(node: str) -> Response:
    """Expect disturbances on a node for a while; 0 seconds ends it."""
    here = parts()
    here.answers.node(node)  # before what is wrong with the body
    body = body_object()
    lasts = _span(body, least=0.0)
    who, why = _who(body), text_of(body, "why", "", 2_000)

    def act() -> float:
        now, state = here.answers.now(), here.answers.node(node)
        with here.store.writing() as connection:
            here.store.decisions.maintain(connection, state.id, now, now + lasts, who, why)
            subject = f"{node} until {iso(now + lasts)}" if lasts else f"{node} ended"
            here.store.decisions.record(connection, now, who, "maintenance", subject, why)
        here.judge.feed.read_decisions()
        state.window.maintenance_until = now + lasts if lasts else None
        return now + lasts

    until = here.writer.do(act)
    return json_answer({"node": node, "until": iso(until) if lasts else None, "by": who, "why": why})


@decisions.delete("/v1/nodes/<node>")
@needs("admin")
def forget(node: str) -> Response:
    """Drop a node that is no more, with all that is stored of it."""
    here = parts()
    who, why = _who({}), plain(request.args.get("why", ""), 2_000)

    def act() -> None:
        state = here.answers.node(node)  # in turn: it may be deleted and report anew meanwhile
        with here.store.writing() as connection:
            here.store.lock_nodes(connection, [state.id])
            here.store.snapshots.forget(connection, state.id)
            here.store.decisions.record(connection, here.answers.now(), who, "forget", node, why)
        here.judge.forget(node)

    here.writer.do(act)
    return json_answer({"forgotten": node})
