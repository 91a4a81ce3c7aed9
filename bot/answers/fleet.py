"""`status`: the fleet, worst first, problems before words about the well."""

from __future__ import annotations

from bot.answer import Action, Answer, Choice, Step, Table
from bot.answers.asking import Asking
from bot.numbers import UNKNOWN, percent, span
from bot.questions import Json
from bot.request import Request, Target
from bot.words import state_word
from gpudiag.words import words

ROWS = 60
MENU = 40
MOST_NODES = 2000
BAD = ("critical", "warning", "unknown")


def status(request: Request, asking: Asking) -> Answer:
    only_problems = "problems" in request.words
    return of_nodes(all_nodes(asking), asking, only_problems)


def all_nodes(asking: Asking) -> list[Json]:
    """The fleet as the API lists it, worst first, over all pages."""
    items: list[Json] = []
    cursor = None
    while len(items) < MOST_NODES:
        page = asking.api.nodes(cursor=cursor, limit=500, lang=asking.lang)
        items += page["items"]
        cursor = page.get("next")
        if not cursor:
            break
    return items


def of_nodes(nodes: list[Json], asking: Asking, only_problems: bool) -> Answer:
    if not nodes:
        step = Step(asking.say("fleet.empty.step"))
        return Answer(headline=asking.say("fleet.empty"), lang=asking.lang, state="unknown", steps=(step,))
    severities = [severity(node, asking) for node in nodes]
    shown = [node for node, state in zip(nodes, severities, strict=True) if state in BAD or not only_problems]
    worst = next((state for state in BAD if state in severities), "ok")
    notes = [asking.say("fleet.more", count=len(shown) - ROWS)] if len(shown) > ROWS else []
    if worst != "ok" and asking.place is None:  # a chat has a menu for it
        why = asking.command(f"why {shown[0]['node']}")
        notes.append(words(asking.lang).LABEL["why_node"].format(command=why))
    return Answer(
        headline=headline(nodes, severities, asking),
        lang=asking.lang,
        state=worst,
        facts=ages(nodes, severities, asking),
        table=table(shown, asking) if shown else None,
        notes=tuple(notes),
        actions=(
            Action(asking.say("b.problems"), "ask", "status problems"),
            Action(asking.say("b.idle"), "tell", "idle 10"),
            Action(asking.say("b.refresh"), "ask", "status"),
            Action(asking.say("b.share"), "share", "status"),
        ),
        choice=Choice(
            asking.say("b.whymenu"),
            tuple((name, Request("why", Target(name)).text) for name in names(shown or nodes)[:MENU]),
        ),
    )


def severity(node: Json, asking: Asking) -> str:
    """The verdict's severity; too old data is unknown, unless the verdict says just that."""
    verdict, age = node["verdict"], node.get("age_seconds")
    if (age is None or age > asking.stale_seconds) and verdict.get("severity") in ("ok", "info"):
        return "unknown"
    return str(verdict.get("severity") or "unknown")


def names(nodes: list[Json]) -> list[str]:
    """Names that a menu can carry whole (Slack takes 75 characters)."""
    return [name for node in nodes if len(name := str(node["node"])) <= 70]


def headline(nodes: list[Json], severities: list[str], asking: Asking) -> str:
    counts = [(state, severities.count(state)) for state in BAD]
    said = ", ".join(
        asking.say("fleet.some", count=count, state=state_word(asking.lang, state))
        for state, count in counts
        if count
    )
    gpus = [count_gpus(node) for node in nodes]
    known = [count for count in gpus if count is not None]
    state = said or asking.say("fleet.ok")
    if len(known) < len(gpus):
        return asking.say("fleet.nogpus", nodes=len(nodes), state=state)
    return asking.say("fleet", nodes=len(nodes), gpus=sum(known), state=state)


def count_gpus(node: Json) -> int | None:
    gpus = node.get("gpus")
    return gpus if isinstance(gpus, int) else len(gpus) if isinstance(gpus, list) else None


def ages(nodes: list[Json], severities: list[str], asking: Asking) -> tuple[str, ...]:
    known = [node["age_seconds"] for node in nodes if node.get("age_seconds") is not None]
    facts = [asking.say("updated", time=asking.time(asking.now))]
    if known:
        newest, oldest = span(min(known), asking.lang), span(max(known), asking.lang)
        facts.append(asking.say("fleet.age", newest=newest, oldest=oldest))
    silent = sum(1 for node in nodes if (node.get("age_seconds") or 1e9) > asking.stale_seconds)
    if silent:
        facts.append(asking.say("fleet.silent", count=silent))
    if any(node.get("source") == "simulated" for node in nodes):
        facts.append(asking.say("simulated.data"))
    return tuple(facts)


def table(nodes: list[Json], asking: Asking) -> Table:
    columns = tuple(
        asking.say(f"c.{name}") for name in ("node", "state", "gpus", "memory", "util", "why", "age")
    )
    rows = tuple(
        (
            str(node["node"]),
            state_word(asking.lang, severity(node, asking)),
            UNKNOWN if count_gpus(node) is None else str(count_gpus(node)),
            percent(held_percent(node)),
            percent(node.get("utilization_percent")),
            str(node["verdict"].get("headline") or node["verdict"].get("rule") or UNKNOWN),
            span(node.get("age_seconds"), asking.lang),
        )
        for node in nodes[:ROWS]
    )
    return Table(columns, rows, numeric=frozenset({2, 3, 4, 6}), left_out=max(0, len(nodes) - ROWS))


def held_percent(node: Json) -> float | None:
    """How much of its GPUs' memory a node holds."""
    used, total = node.get("memory_used_bytes"), node.get("memory_total_bytes")
    return None if used is None or not total else 100 * used / total
