"""`why`, `explain`: the diagnosis of one node, one GPU, or whoever owns a process."""

from __future__ import annotations

from dataclasses import replace

from bot.answer import Action, Answer, Bar, Confirm, Evidence, Slice, Step, code
from bot.answers.asking import Asking
from bot.numbers import UNKNOWN, moment, span
from bot.paste import from_text
from bot.questions import Json
from bot.request import Request, Target
from bot.when import exact
from bot.words import contract_word, state_word
from gpudiag.words import words
from gpudiag.words.gpus import (
    commands_differ,
    headline_finding,
    looked_at,
    saying_the_same,
    told_of,
    told_once,
)
from gpudiag.words.hosts import host_of, with_hosts

MOST_EVIDENCE, MOST_STEPS, MOST_ALSO, MOST_CHANGES = 8, 3, 6, 3
WORST = ("critical", "warning", "unknown", "info", "ok")


def why(request: Request, asking: Asking) -> Answer:
    target = request.target or Target("")
    at = None
    if request.at:
        when = exact(request.at, asking.now, asking.zone)
        if when is None:
            words = asking.say(
                "q.time", word=code(request.at), command=asking.command(f"why {target} at 15:40")
            )
            return Answer(headline=words, lang=asking.lang, exit_code=2)
        at = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    found = asking.api.diagnosis(target.place, gpu=target.gpu, at=at, lang=asking.lang)
    return lay_out(found, where(found, target), asking, at=at)


def where(found: Json, target: Target) -> Target:
    """The node and GPU that the API answers about, where a pod, a job or a pid was asked for."""
    asked, gpus = found.get("asked"), found.get("gpus") or []
    if not asked:
        return replace(target, name=str(found["node"]))
    return Target(str(found["node"]), gpus[0].get("index") if len(gpus) == 1 else target.gpu)


def paste(request: Request, asking: Asking) -> Answer:
    text = from_text("\n".join(request.words))
    if not text:
        return Answer(headline=asking.say("q.paste"), lang=asking.lang, exit_code=2)
    return of_paste(text, asking)


def of_paste(text: str, asking: Asking) -> Answer:
    """The diagnosis of pasted tool output; nothing of it is stored."""
    found = asking.api.read_paste(text, lang=asking.lang)
    return lay_out(found, Target(str(found.get("node") or "nvidia-smi")), asking, live=False)


def chart(request: Request, asking: Asking) -> Answer:
    """Where no picture can be sent: the page that shows it."""
    url = asking.link(f"/nodes/{request.target.place}") if request.target else ""
    headline = asking.say("chart.nochat", url=url or code(request.target))
    return Answer(headline=headline, lang=asking.lang, exit_code=2)


def lay_out(found: Json, target: Target, asking: Asking, at: str | None = None, live: bool = True) -> Answer:
    """A diagnosis of the contract as an Answer; too old data never gives a confident verdict."""
    gpus: list[Json] = list(found.get("gpus") or [])
    verdict = found["verdict"]
    findings = findings_of(found, gpus)
    main = headline_finding(findings, verdict)
    same = saying_the_same(main, findings) if main else []
    age = (found.get("observed") or {}).get("age_seconds") if live and not at else 0.0
    stale = (age is None or age > limit(found, asking)) and verdict.get("rule") != "agent-stale"
    severity = "unknown" if stale else str(verdict["severity"])
    headline = told_of(str(verdict["headline"]), same, verdict.get("gpu"))
    facts = facts_of(found, gpus, verdict, main, age if live else None, asking, at, live, stale)
    if stale:
        paragraphs: tuple[str, ...] = (
            asking.say("stale.was", age=span(age, asking.lang), headline=headline),
        )
        steps: tuple[Step, ...] = (Step(asking.say("stale.step")),)
        title = asking.say("stale", node=str(target), age=span(age, asking.lang))
    else:
        paragraphs = meaning(main)
        steps = steps_of(main, host_of(found), asking.lang)
        title = asking.say("node.headline", node=str(target), headline=headline)
    return Answer(
        headline=title,
        lang=asking.lang,
        state=severity,
        facts=facts,
        paragraphs=(*asked_for(found), *paragraphs),
        evidence=evidence_of(main or next(iter(findings), None)),
        steps=steps,
        also=also_seen([one for one in findings if not any(one is told for told in same)], asking),
        bar=memory_bar(gpus[0], asking) if target.gpu is not None and gpus and not stale else None,
        notes=(
            *commands_of(main, same, asking),
            *(() if stale else steps_left(main, found, asking, live)),
            *notes_of(found, gpus, asking),
        ),
        actions=actions_of(main, target, drawn(found, main, target), asking, at) if live else (),
    )


def findings_of(found: Json, gpus: list[Json]) -> list[Json]:
    """The node's own findings, then those of its GPUs, each with its `gpu`."""
    own = [{**finding, "gpu": None} for finding in found.get("findings") or []]
    return own + [{**f, "gpu": gpu.get("index")} for gpu in gpus for f in gpu.get("findings") or []]


def commands_of(main: Json | None, same: list[Json], asking: Asking) -> tuple[str, ...]:
    """Of which GPU the commands are, where the answer is about several."""
    if main is None or not commands_differ(same):
        return ()
    return (str(words(asking.lang).LABEL["commands_of"]).format(gpu=main["gpu"]),)


def asked_for(found: Json) -> tuple[str, ...]:
    """Who was asked for instead of a node, and where it runs, as the API says it."""
    asked = found.get("asked")
    return (str(asked["text"]),) if asked else ()


def limit(found: Json, asking: Asking) -> float:
    """Three reporting periods, as far as the period can be told from what was observed."""
    observed = found.get("observed") or {}
    start, end, samples = moment(observed.get("from")), moment(observed.get("to")), observed.get("samples")
    if start and end and isinstance(samples, int) and samples > 1:
        return max(asking.stale_seconds, 3 * (end - start).total_seconds() / samples)
    return asking.stale_seconds


def facts_of(
    found: Json, gpus: list[Json], verdict: Json, main: Json | None, age: float | None, asking: Asking,
    at: str | None, live: bool, stale: bool,
) -> tuple[str, ...]:  # fmt: skip
    facts = [hardware(gpus)]
    if at:
        facts.append(asking.say("as.of", time=asking.time(moment(at))))
    elif live:
        known = age is not None
        facts.append(asking.say("age", age=span(age, asking.lang)) if known else asking.say("age.unknown"))
    facts.append(asking.say("rule", rule=code(verdict["rule"])) if verdict.get("rule") else "")
    confidence = verdict.get("confidence") or (main or {}).get("confidence")
    if confidence and not stale:
        facts.append(
            asking.say("confidence", confidence=contract_word(asking.lang, confidence) or confidence)
        )
    if main and main.get("state") == "acknowledged":
        facts.append(state_word(asking.lang, "acknowledged"))
    if found.get("source") == "simulated":
        facts.append(asking.say("simulated.data"))
    return tuple(fact for fact in facts if fact)


def hardware(gpus: list[Json]) -> str:
    """4× H100 80GB, 1× A10."""
    names: dict[str, int] = {}
    for gpu in gpus:
        name = str(gpu.get("name") or "GPU").removeprefix("NVIDIA ")
        names[name] = names.get(name, 0) + 1
    return ", ".join(f"{count}× {name}" for name, count in names.items())


def meaning(main: Json | None) -> tuple[str, ...]:
    if not main:
        return ()
    # What it does not mean says so itself ("It is not a leak …"): a title before it would deny it twice.
    return tuple(str(main[part]) for part in ("means", "does_not_mean") if main.get(part))


def evidence_of(main: Json | None) -> tuple[Evidence, ...]:
    """The evidence of the finding that headlines, each line once."""
    lines = {
        guarded(item): Evidence(guarded(item), str(item.get("kind") or ""))
        for item in (main or {}).get("evidence") or []
    }
    return tuple(lines.values())[:MOST_EVIDENCE]


def guarded(item: Json) -> str:
    """The text of a piece of evidence, a foreign string in it (a process name) put into a code span."""
    text, value = str(item.get("text") or item.get("name") or ""), item.get("value")
    if isinstance(value, str) and value and f"`{value}`" not in text:
        return text.replace(value, code(value), 1)
    return text


def steps_of(main: Json | None, host: str | None, lang: str) -> tuple[Step, ...]:
    """The first steps, and the one that frees what is held, wherever it stands."""
    return tuple(
        Step(str(step.get("text") or ""), str(step.get("command") or ""), step["on"])
        for step in with_hosts(shown_steps(main), host, lang)
    )


def shown_steps(main: Json | None) -> list[Json]:
    steps = (main or {}).get("next_steps") or []
    return steps[:MOST_STEPS] + [step for step in steps[MOST_STEPS:] if step.get("frees")]


def steps_left(main: Json | None, found: Json, asking: Asking, live: bool) -> tuple[str, ...]:
    """How many steps are not shown, and where they stand: on the node's page, or in the rule's runbook."""
    left = len((main or {}).get("next_steps") or []) - len(shown_steps(main))
    if main is None or left <= 0:
        return ()
    page = f"/nodes/{found['node']}" if live else main.get("runbook_url")
    where = asking.link(str(page or "")) or code(f"gpudiag rules {main['rule']}")
    return (asking.say("steps.left", count=left, where=where),)


def also_seen(others: list[Json], asking: Asking) -> tuple[str, ...]:
    """Other findings with their severity, worst first; the GPUs that share one stand on one line."""
    others = sorted(others, key=lambda f: WORST.index(f.get("severity", "ok")))
    told = told_once(others, lambda f: (f.get("rule"), f.get("severity")))[:MOST_ALSO]
    return tuple(
        f"{_where(f)}{f['headline']} ({state_word(asking.lang, f.get('severity') or 'unknown')},"
        f" {code(f.get('rule'))})"
        for f in told
    )


def _where(told: Json) -> str:
    return f"{told['where']}: " if told["where"] else ""


def memory_bar(gpu: Json, asking: Asking) -> Bar | None:
    """The ledger of one GPU: the KV pool is one slice with its filled share inside."""
    ledger = gpu.get("memory") or {}
    parts = ledger.get("parts") or []
    if not parts:
        return None
    roles = {"weights": "weights", "kv_pool": "kv_pool", "runtime": "overhead"}
    slices = [
        Slice(
            label=asking.say("p.kv_pool.live" if part["part"] == "kv_pool" else f"p.{part['part']}"),
            bytes=part["bytes"],
            role=roles.get(part["part"], "other"),
            filled=share(part.get("filled_bytes"), part["bytes"]) if part["part"] == "kv_pool" else None,
        )
        for part in parts
        if part.get("bytes")
    ]
    if ledger.get("driver_reserved_bytes"):
        slices.append(Slice(asking.say("p.driver"), ledger["driver_reserved_bytes"], "overhead"))
    if ledger.get("free_bytes"):
        slices.append(Slice(asking.say("p.free"), ledger["free_bytes"], "free"))
    return Bar(tuple(slices), ledger.get("total_bytes"))


def share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def notes_of(found: Json, gpus: list[Json], asking: Asking) -> tuple[str, ...]:
    unjudged = [*(found.get("unjudged") or []), *(u for gpu in gpus for u in gpu.get("unjudged") or [])]
    simulated = asking.say("simulated.data")
    said_above = (simulated, *asked_for(found))
    notes = [str(note) for note in found.get("notes") or [] if note not in said_above]
    notes[:0] = changed(found, asking)
    if unjudged:
        missing = dict.fromkeys(name for item in unjudged for name in item.get("missing") or [])
        rules = {item.get("rule") for item in unjudged}
        some = ", ".join(code(name) for name in list(missing)[:4]) + (" …" if len(missing) > 4 else "")
        notes.append(asking.say("unjudged", count=len(rules), missing=some or UNKNOWN))
    return tuple(notes[:4])


def changed(found: Json, asking: Asking) -> list[str]:
    """What came and went since the node was last ok, in one line."""
    since = found.get("changed") or {}
    items = since.get("items") or []
    if not items:
        return []
    said, last_ok = words(asking.lang).CHANGED, since.get("last_ok")
    head = said["last_ok"].format(time=asking.time(moment(last_ok))) if last_ok else said["never"]
    several = len(found.get("gpus") or []) > 1
    items = told_once(items, lambda item: (item["at"][:16], item["what"]), several)[-MOST_CHANGES:]
    told = [
        f"{asking.time(moment(item['at']))} {said[item['what']]}: {_where(item)}{item['headline']}"
        for item in items
    ]
    return [f"{head}: {'; '.join(told)}"]


def drawn(found: Json, main: Json | None, target: Target) -> Target:
    """What the timeline shows: of a node with several GPUs the one to look at first."""
    several = target.gpu is None and len(found.get("gpus") or []) > 1
    return replace(target, gpu=looked_at(found, main)) if several else target


def actions_of(
    main: Json | None, target: Target, drawn: Target, asking: Asking, at: str | None
) -> tuple[Action, ...]:
    """Runbook, Refresh, Post to channel, Mute, Timeline."""
    again = Request("why", target, at=at).text
    actions = []
    if main and (url := asking.link(str(main.get("runbook_url") or ""))):
        actions.append(Action(asking.say("b.runbook"), "link", url=url))
    actions.append(Action(asking.say("b.refresh"), "ask", again))
    actions.append(Action(asking.say("b.share"), "share", again))
    if main and main.get("rule"):
        actions.append(mute_action(target, str(main["rule"]), asking))
    actions.append(Action(asking.say("b.chart"), "chart", Request("chart", drawn).text))
    return tuple(actions)


def mute_action(target: Target, rule: str, asking: Asking) -> Action:
    confirm = Confirm(
        asking.say("mute.title"),
        asking.say("mute.text", node=str(target), rule=rule),
        asking.say("mute.yes"),
        asking.say("mute.no"),
    )
    return Action(asking.say("b.mute"), "change", f"mute {target.asked} {rule} 1h", confirm=confirm)
