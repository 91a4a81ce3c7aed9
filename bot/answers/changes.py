"""`watch`, `mute`, `ack`, `language`: what people decide. Kept with who, when and why, and said publicly."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import quote

from bot.answer import Answer, By, Step, code
from bot.answers.asking import Asking
from bot.answers.diagnosis import asked_for, where
from bot.answers.guidance import known_rules, no_such_rule
from bot.cards import LOUD
from bot.numbers import UNKNOWN, moment
from bot.questions import ApiRefused, Json
from bot.request import Request
from bot.state import Watch

LONGEST_MUTE = 7 * 86400.0


def allowed(request: Request, asking: Asking) -> Answer | None:
    """None when the person may; else the sentence that says no."""
    if not asking.place:
        return outside_chat(request, asking)
    if asking.may_change(request.verb):
        return None
    return Answer(headline=asking.say("e.allowed", verb=code(request.verb)), lang=asking.lang)


def outside_chat(request: Request, asking: Asking) -> Answer:
    """A terminal has no channel that could see who decided: what can be typed there instead."""
    return Answer(
        headline=asking.say("nochat", verb=code(request.verb)),
        lang=asking.lang,
        steps=tuple(IN_A_TERMINAL[request.verb](request, asking)),
        exit_code=2,
    )


def instead_of_watch(request: Request, asking: Asking) -> list[Step]:
    question = f"why {request.target}" if request.target else "status"
    server = f" --api {asking.public_url}" if asking.public_url else ""
    return [Step(asking.say("nochat.watch"), f"watch -n 30 gpudiag ask {shlex.quote(question)}{server}")]


def instead_of_mute(request: Request, asking: Asking) -> list[Step]:
    mutes = asking.link("/v1/mutes") or "URL/v1/mutes"
    if request.seconds is None:
        ends = Step(asking.say("nochat.unmute"), f"curl -X DELETE {mutes}/ID")
        return [Step(asking.say("nochat.mutes"), f"curl {mutes}"), ends, Step(asking.say("nochat.token"))]
    wanted: Json = {
        "node": request.target.name if request.target else "NODE",
        "rule": request.options.get("rule"),
    }
    wanted |= {"seconds": int(request.seconds), "why": request.options.get("reason")}
    return [Step(asking.say("nochat.send"), sent(wanted, mutes)), Step(asking.say("nochat.token"))]


def instead_of_ack(request: Request, asking: Asking) -> list[Step]:
    reason = {"why": request.options.get("reason")}
    sends = [
        Step(
            asking.say("nochat.send"),
            sent(
                reason, asking.link(f"/v1/findings/{quote(finding)}/ack") or f"URL/v1/findings/{finding}/ack"
            ),
        )
        for finding in request.words
    ]
    return [*sends, Step(asking.say("nochat.token"))]


def sent(values: Json, address: str) -> str:
    """The command that posts the values that are given."""
    body = json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=False)
    return f"curl -d {shlex.quote(body)} {shlex.quote(address)}"


def instead_of_language(request: Request, asking: Asking) -> list[Step]:
    return [Step(asking.say("nochat.lang"))]


IN_A_TERMINAL: Mapping[str, Callable[[Request, Asking], list[Step]]] = {
    "watch": instead_of_watch,
    "mute": instead_of_mute,
    "ack": instead_of_ack,
    "language": instead_of_language,
}


def watch(request: Request, asking: Asking) -> Answer:
    if not asking.place or not asking.state:
        return outside_chat(request, asking)
    command = request.words[0] if request.words else ""
    watches = asking.state.watches(asking.place.team, asking.place.channel)
    if command == "list":
        return watch_list(watches, asking)
    if no := allowed(request, asking):
        return no
    what = "all" if command == "all" or not request.target else str(request.target)
    if command == "off":
        removed = [item for item in watches if not request.target or item.what == what]
        for item in removed:
            asking.state.unwatch(asking.place.team, asking.place.channel, item.what)
        if not removed:
            return watch_list(watches, asking)
        named = ", ".join(in_words(item.what, asking) for item in removed)
        return Answer(
            headline=asking.say("watch.off", what=named), lang=asking.lang, facts=by(asking), public=True
        )
    runs: tuple[str, ...] = ()
    if target := request.target:
        found = asking.api.diagnosis(target.place, gpu=target.gpu, lang=asking.lang)  # 404 when unknown
        what, runs = str(where(found, target)), asked_for(found)
    asking.state.watch(
        asking.place.team, asking.place.channel, what, asking.place.user, asking.now, asking.lang
    )
    return Answer(
        headline=asking.say("watch.on", what=in_words(what, asking)),
        paragraphs=(*runs, *already_open(what, asking)),
        notes=(asking.say("watch.invite"),),
        lang=asking.lang,
        facts=by(asking),
        public=True,
    )


def already_open(what: str, asking: Asking) -> tuple[str, ...]:
    """Nodes that are in trouble as the watch begins: their messages would otherwise be missed."""
    name = what.partition(":")[0]
    items = asking.api.nodes(limit=500, lang=asking.lang)["items"]
    loud = [str(item["node"]) for item in items if item["verdict"].get("severity") in LOUD]
    bad = [node for node in loud if what == "all" or node == name]
    return (asking.say("watch.open", nodes=", ".join(map(code, bad[:20]))),) if bad else ()


def watch_list(watches: list[Watch], asking: Asking) -> Answer:
    if not watches:
        return Answer(headline=asking.say("watch.none"), lang=asking.lang)
    named = ", ".join(in_words(item.what, asking) for item in watches)
    lines = tuple(
        person("watch.by", item.user, asking, what=in_words(item.what, asking), time=asking.time(item.since))
        for item in watches
    )
    return Answer(headline=asking.say("watch.list", what=named), lang=asking.lang, paragraphs=lines)


def in_words(what: str, asking: Asking) -> str:
    return asking.say("watch.all") if what == "all" else code(what)


def by(asking: Asking, reason: str = "") -> tuple[str | By, ...]:
    who = (person("by.whom", asking.place.user, asking),) if asking.place else ()
    return (*who, *((asking.say("reason", reason=reason),) if reason else ()))


def person(key: str, user: str, asking: Asking, **values: object) -> By:
    """The sentence `key`, whose {who} is a person."""
    before, _, after = asking.say(key, who="\x00", **values).partition("\x00")
    return By(before, user, after)


def mute(request: Request, asking: Asking) -> Answer:
    command = request.words[0] if request.words else ""
    if command == "list":
        return mute_list(asking)
    if no := allowed(request, asking):
        return no
    who = actor(asking)
    if command == "off":
        return unmute(request, who, asking)
    target = request.target
    assert target is not None and request.seconds is not None
    if not 0 < request.seconds <= LONGEST_MUTE:
        words = asking.say("q.duration", command=asking.command(f"mute {target} 2h"))
        return Answer(headline=words, lang=asking.lang)
    rule, reason = request.options.get("rule"), request.options.get("reason", "")
    try:
        done = asking.api.mute(
            target.name, rule=rule, seconds=request.seconds, by=who, reason=reason, lang=asking.lang
        )
    except ApiRefused as refusal:
        if refusal.status != 422 or not rule or rule in (rules := known_rules(asking)):
            raise
        return no_such_rule(rule, rules, asking)
    until = moment(done.get("until"))
    what = code(target) + (f" {code(rule)}" if rule else "")
    return Answer(
        headline=asking.say("muted", what=what, until=asking.time(until)),
        lang=asking.lang,
        facts=by(asking, reason),
        public=True,
    )


def unmute(request: Request, who: str, asking: Asking) -> Answer:
    mutes = asking.api.mutes(lang=asking.lang)["items"]
    mine = [item for item in mutes if not request.target or item.get("node") == request.target.name]
    for item in mine:
        asking.api.unmute(str(item["id"]), by=who, lang=asking.lang)
    what = code(request.target) if request.target else asking.say("watch.all")
    if not mine:
        return Answer(headline=asking.say("mute.notfound", what=what), lang=asking.lang)
    return Answer(headline=asking.say("unmuted", what=what), lang=asking.lang, facts=by(asking), public=True)


def mute_list(asking: Asking) -> Answer:
    mutes = asking.api.mutes(lang=asking.lang)["items"]
    if not mutes:
        return Answer(headline=asking.say("mute.none"), lang=asking.lang)
    return Answer(
        headline=asking.say("mute.list", count=len(mutes)),
        lang=asking.lang,
        paragraphs=tuple(mute_line(item, asking) for item in mutes[:20]),
    )


def mute_line(item: Json, asking: Asking) -> str | By:
    what = code(item.get("node") or "*") + (f" {code(item['rule'])}" if item.get("rule") else "")
    until, by_whom = asking.time(moment(item.get("until"))), str(item.get("by") or UNKNOWN)
    reason = str(item.get("why") or asking.say("noreason"))
    if by_whom.startswith("slack:"):
        return person("mute.line", by_whom.rpartition(":")[2], asking, what=what, until=until, reason=reason)
    return asking.say("mute.line", what=what, until=until, who=code(by_whom), reason=reason)


def ack(request: Request, asking: Asking) -> Answer:
    if no := allowed(request, asking):
        return no
    reason = request.options.get("reason", "")
    done = []
    for finding in request.words:
        try:
            done.append(asking.api.acknowledge(finding, by=actor(asking), reason=reason, lang=asking.lang))
        except ApiRefused as refusal:
            if refusal.status != 404:
                raise
            return no_such_finding(finding, asking)
    named = dict.fromkeys(
        acknowledged(found, finding) for found, finding in zip(done, request.words, strict=True)
    )
    return Answer(
        headline=asking.say("ack.done", what=", ".join(list(named)[:5])),
        lang=asking.lang,
        facts=by(asking, reason),
        public=True,
    )


def no_such_finding(finding: str, asking: Asking) -> Answer:
    return Answer(
        headline=asking.say("q.finding", word=code(finding)),
        lang=asking.lang,
        paragraphs=(asking.say("q.finding.step", button=asking.say("b.ack")),),
        exit_code=2,
    )


def acknowledged(found: Json, finding: str) -> str:
    """The acknowledged finding in words: its node and headline, else its id."""
    inner = found.get("finding") if isinstance(found.get("finding"), dict) else found
    assert isinstance(inner, dict)
    node, headline = found.get("node") or inner.get("node"), inner.get("headline")
    return f"{node}: {headline}" if node and headline else str(headline or code(finding))


def actor(asking: Asking) -> str:
    """Who is written down: the person's id with the workspace's, as `slack:T01:U01`."""
    return f"slack:{asking.place.team}:{asking.place.user}" if asking.place else "bot"


def language(request: Request, asking: Asking) -> Answer:
    if no := allowed(request, asking):
        return no
    chosen, scope = request.words
    assert asking.place and asking.state
    channel = asking.place.channel if scope == "channel" else ""
    asking.state.set_language(asking.place.team, channel, chosen)
    return Answer(headline=asking.say("language.set"), lang=chosen, facts=by(asking), public=True)
