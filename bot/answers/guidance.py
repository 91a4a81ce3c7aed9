"""`help`, `runbook`, `doctor`, and what is said when a sentence cannot be followed."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import replace

from bot.answer import Action, Answer, code
from bot.answers.asking import Asking
from bot.answers.checks import check_api, of_checks
from bot.grammar import BY_NAME, VERBS, read
from bot.questions import ApiRefused, Json
from bot.request import Problem, Request, Target


def overview(request: Request, asking: Asking) -> Answer:
    """Every command that has its place here, with one example that works as it stands."""
    wanted = read(request.words[0]).verb if request.words else ""
    here = [verb for verb in VERBS if asking.place or not verb.channel]
    verbs = [verb for verb in VERBS if verb.name == wanted] if request.words else []
    elsewhere = ", ".join(code(verb.name) for verb in VERBS if verb not in here)
    note = asking.say("help.note.here", names=elsewhere) if elsewhere else asking.say("help.note")
    return Answer(
        headline=asking.say("help"),
        lang=asking.lang,
        paragraphs=tuple(
            f"{asking.command(verb.example)}  {asking.say(f'h.{verb.name}')}" for verb in verbs or here
        ),
        notes=(note,),
        actions=(Action(asking.say("b.fleet"), "tell", "status"),),
    )


def runbook(request: Request, asking: Asking) -> Answer:
    wanted = request.words[0]
    rules = known_rules(asking)
    if wanted not in rules:
        return no_such_rule(wanted, rules, asking)
    rule = rules[wanted]
    url = asking.link(str(rule.get("runbook_url") or f"/runbooks/{wanted}"))
    actions = [Action(asking.say("b.runbook"), "link", url=url)] if url else []
    actions.append(Action(asking.say("b.share"), "share", f"runbook {wanted}"))
    return Answer(
        headline=asking.say("runbook.is", rule=wanted),
        lang=asking.lang,
        paragraphs=(str(rule["summary"]),) if rule.get("summary") else (),
        notes=(url,) if url else (),
        actions=tuple(actions),
    )


def known_rules(asking: Asking) -> dict[str, Json]:
    return {
        str(rule.get("rule") or rule.get("id")): rule for rule in asking.api.rules(lang=asking.lang)["items"]
    }


def no_such_rule(wanted: str, rules: Collection[str], asking: Asking) -> Answer:
    """No rule has this name: those that are like it, one press away."""
    near = difflib.get_close_matches(wanted, rules, n=3, cutoff=0.4)
    near = near or [name for name in rules if wanted in name][:3]
    names, all_of_them = ", ".join(code(name) for name in near), asking.link("/runbooks")
    told = asking.say("q.near", names=names) if near else asking.say("runbook.all", count=len(rules))
    return Answer(
        headline=asking.say("runbook.none", word=code(wanted)),
        lang=asking.lang,
        paragraphs=(told,),
        notes=(all_of_them,) if all_of_them else (),
        actions=tuple(Action(name[:70], "ask", f"runbook {name}") for name in near),
        exit_code=2,
    )


def doctor(request: Request, asking: Asking) -> Answer:
    """What the bot's set-up lacks. Where no chat system is set up, the API alone is checked."""
    if asking.doctor:
        return asking.doctor(asking.lang)
    check = check_api(asking.api, asking.lang)
    return replace(of_checks([check], asking.lang), exit_code=0 if check.good else 3)


def problem(request: Request, asking: Asking) -> Answer:
    """One sentence that helps, with the arguments kept."""
    trouble = request.problem or Problem("unknown-verb")
    example = BY_NAME[request.verb].example
    if trouble.kind == "missing":
        words = asking.say("q.missing", verb=code(request.verb), command=asking.command(example))
        return Answer(headline=words, lang=asking.lang)
    if trouble.kind == "bad-duration":
        target = str(request.target or "node-3")
        words = asking.say("q.duration", command=asking.command(f"mute {target} 2h"))
        return Answer(headline=words, lang=asking.lang)
    if trouble.suggestion:
        key = {"unknown-option": "q.option", "unknown-word": "q.word"}.get(trouble.kind, "q.unknown")
        return Answer(
            headline=asking.say("q.meant", command=asking.command(trouble.suggestion)),
            lang=asking.lang,
            paragraphs=(asking.say(key, word=code(trouble.word)) + ".",),
            actions=(Action(asking.say("b.run"), "ask", trouble.suggestion, primary=True),),
        )
    step = _try(asking, asking.say("q.try.why"))
    return Answer(
        headline=asking.say("q.unknown", word=code(trouble.word)), lang=asking.lang, paragraphs=(step,)
    )


def _try(asking: Asking, sentence: str) -> str:
    """What to type instead."""
    return asking.say("q.unknown.step", command=asking.command(sentence), help=asking.command("help"))


def refused(request: Request, refusal: ApiRefused, asking: Asking) -> Answer:
    """The API said no: an unknown node gets the nearest names, anything else the API's own sentence."""
    if refusal.status == 403:
        return Answer(headline=asking.say("e.forbidden"), lang=asking.lang)
    if refusal.status == 401:
        return Answer(headline=asking.say("e.token"), lang=asking.lang, state="unknown")
    if refusal.status in (429, 503):
        return Answer(headline=asking.say("e.slow"), lang=asking.lang, state="unknown")
    if refusal.status in (404, 409) and request.target and not of_a_known_place(request, refusal):
        return not_one_place(request, request.target, refusal, asking)
    return Answer(
        headline=refusal.said(asking.lang),
        lang=asking.lang,
        paragraphs=(near_names(refusal, asking),) if refusal.nearest else (),
    )


def of_a_known_place(request: Request, refusal: ApiRefused) -> bool:
    """Whether the node may well be there and a moment or a GPU of it is not: the API says which."""
    assert request.target is not None
    narrowed = request.at is not None or request.target.gpu is not None
    return refusal.status == 404 and request.target.kind == "node" and narrowed and not refusal.nearest


def not_one_place(request: Request, target: Target, refusal: ApiRefused, asking: Asking) -> Answer:
    """The target is nowhere, or in several places: the names that can be asked for, one press away."""
    near = refusal.nearest[:6]
    if not near and refusal.status == 404:
        return nothing_like_it(target, refusal, asking)
    names = ", ".join(code(name) for name in near)
    key = "q.several" if refusal.status == 409 else "q.node"
    again = [
        (name, Request(request.verb, place_of(name, refusal.status), at=request.at).text) for name in near
    ]
    told = asking.say("q.near", names=names) if refusal.status == 404 else refusal.said(asking.lang)
    return Answer(
        headline=asking.say(key, word=named(target)),
        lang=asking.lang,
        paragraphs=(told,),
        actions=tuple(Action(name[:70], "ask", command) for name, command in again)
        or (Action(asking.say("b.fleet"), "ask", "status"),),
    )


def nothing_like_it(target: Target, refusal: ApiRefused, asking: Asking) -> Answer:
    """The target is nowhere, and no name is like it: what was looked for, what there is, what to ask."""
    said = refusal.said(asking.lang)
    step = _try(asking, asking.say("q.try.fleet"))
    return Answer(
        headline=asking.say("q.nothing", word=named(target)),
        lang=asking.lang,
        paragraphs=(said[:1].upper() + said[1:], step),
        actions=(Action(asking.say("b.fleet"), "ask", "status"),),
    )


def named(target: Target) -> str:
    return code(target if target.kind != "node" else target.name)


def place_of(name: str, status: int) -> Target:
    """What a name that the API offers stands for: a node, or NODE:GPU where several places were meant."""
    node, _, gpu = name.rpartition(":")
    return Target(node, int(gpu)) if status == 409 and node and gpu.isdigit() else Target(name)


def near_names(refusal: ApiRefused, asking: Asking) -> str:
    return asking.say("q.near", names=", ".join(code(name) for name in refusal.nearest[:5]))
