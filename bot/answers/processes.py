"""`top` and `idle`: who holds the GPUs, and which of them are held without work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bot.answer import Action, Answer, Table, code
from bot.answers.asking import Asking
from bot.answers.diagnosis import asked_for, where
from bot.answers.scan import Found, Scan, processes, scan
from bot.numbers import UNKNOWN, moment, percent, size, span
from bot.questions import Json
from bot.request import Request

ROWS = 20


def top(request: Request, asking: Asking) -> Answer:
    target = request.target
    asked: tuple[str, ...] = ()
    if target:
        found = asking.api.diagnosis(target.place, gpu=target.gpu, lang=asking.lang)
        target, asked = where(found, target), asked_for(found)
        seen, on = Scan(1, (found,)), code(target)
    else:
        seen = scan(asking)
        on = asking.say("all.nodes", count=seen.nodes)
    held = [place for found in seen.diagnoses for place in processes(found)]
    if target and target.gpu is not None:
        held = [place for place in held if place.gpu == target.gpu]
    by = request.options.get("by", "memory")
    readings = {
        (str(found["node"]), gpu.get("index")): gpu.get("readings") or {}
        for found in seen.diagnoses
        for gpu in found.get("gpus") or []
    }
    held.sort(key=lambda place: order(place, by, readings), reverse=True)
    notes = [seen.sentence(asking)] if seen.missed else []
    if len(held) > ROWS:
        notes.append(asking.say("more.left", count=len(held) - ROWS))
    return Answer(
        headline=top_headline(held, on, asking),
        lang=asking.lang,
        facts=(asking.say("top.by", by=asking.say(f"by.{by}")), *simulated(seen, asking)),
        paragraphs=asked,
        table=top_table(held, by, readings, asking) if held else None,
        notes=tuple(notes),
        actions=(
            Action(asking.say("b.refresh"), "ask", request.text),
            Action(asking.say("b.share"), "share", request.text),
        ),
    )


def simulated(seen: Scan, asking: Asking) -> tuple[str, ...]:
    return (
        (asking.say("simulated.data"),) if any(d.get("source") == "simulated" for d in seen.diagnoses) else ()
    )


def order(place: Found, by: str, readings: dict[tuple[str, int | None], Json]) -> float:
    reading = readings.get((place.node, place.gpu), {})
    if by == "utilization":
        return reading.get("utilization_percent") or -1.0
    if by == "power":
        return reading.get("power_watts") or -1.0
    return place.process.get("memory_used_bytes") or -1.0


def top_headline(held: list[Found], on: str, asking: Asking) -> str:
    if not held:
        return asking.say("top.none", where=on)
    known = [place.process.get("memory_used_bytes") for place in held]
    count = len({(place.node, place.process.get("pid")) for place in held})
    if None in known:
        return asking.say("top.unknown", count=count, where=on)
    return asking.say("top.memory", count=count, total=size(sum(known)), where=on)  # type: ignore[arg-type]


def top_table(
    held: list[Found], by: str, readings: dict[tuple[str, int | None], Json], asking: Asking
) -> Table:
    last = {"memory": "util", "utilization": "util", "power": "power"}[by]
    columns = tuple(asking.say(f"c.{name}") for name in ("gpu", "process", "user", "owner", "memory", last))
    rows = []
    for place in held[:ROWS]:
        process, reading = place.process, readings.get((place.node, place.gpu), {})
        watts = reading.get("power_watts")
        load = (
            percent(reading.get("utilization_percent"))
            if last == "util"
            else UNKNOWN
            if watts is None
            else f"{watts:.0f} W"
        )
        rows.append(
            (
                f"{place.node}:{place.gpu}" if place.gpu is not None else place.node,
                f"{process.get('name') or '-'} ({process.get('pid')})",
                str(process.get("user") or UNKNOWN),
                owner_of(process),
                size(process.get("memory_used_bytes")),
                load,
            )
        )
    return Table(columns, tuple(rows), numeric=frozenset({4, 5}), left_out=max(0, len(held) - ROWS))


def owner_of(process: Json) -> str:
    owner = process.get("owner")
    if isinstance(owner, dict):
        return " ".join(str(value) for value in owner.values() if value) or UNKNOWN
    return str(owner or UNKNOWN)


class Idle(NamedTuple):
    """A GPU that holds memory without work, and for how long it has."""

    gpu: str
    holders: str
    used_bytes: float
    seconds: float


def idle(request: Request, asking: Asking) -> Answer:
    """GPUs that hold memory, compute nothing, and have done so for the asked time."""
    least = request.seconds or 600.0
    seen = scan(asking)
    found = sorted(idle_gpus(seen, least, asking), key=lambda one: one.seconds, reverse=True)
    time, again = span(least, asking.lang), f"idle {least / 60:.0f}"
    headline = asking.say("idle.none", span=time)
    if found:
        total = size(sum(one.used_bytes for one in found))
        headline = asking.say("idle.some", count=len(found), span=time, total=total)
    notes = [asking.say("idle.note")] if found else []
    return Answer(
        headline=headline,
        lang=asking.lang,
        facts=simulated(seen, asking),
        table=idle_table(found, asking) if found else None,
        notes=(*notes, *([seen.sentence(asking)] if seen.missed else [])),
        actions=(
            Action(asking.say("b.refresh"), "ask", again),
            Action(asking.say("b.share"), "share", again),
        ),
    )


def idle_gpus(seen: Scan, least: float, asking: Asking) -> Iterator[Idle]:
    for found in seen.diagnoses:
        for gpu in found.get("gpus") or []:
            seconds = idle_seconds(gpu, asking)
            if seconds is None or seconds < least:
                continue
            holders = [str(one.get("name") or one.get("pid")) for one in gpu.get("processes") or []]
            used = gpu["readings"]["memory_used_bytes"]
            yield Idle(f"{found['node']}:{gpu['index']}", ", ".join(holders) or UNKNOWN, used, seconds)


def idle_table(found: list[Idle], asking: Asking) -> Table:
    columns = tuple(asking.say(f"c.{name}") for name in ("gpu", "process", "memory", "for"))
    rows = tuple(
        (one.gpu, one.holders, size(one.used_bytes), span(one.seconds, asking.lang)) for one in found[:ROWS]
    )
    return Table(columns, rows, numeric=frozenset({2, 3}), left_out=max(0, len(found) - ROWS))


def idle_seconds(gpu: Json, asking: Asking) -> float | None:
    """How long a GPU has held memory without work, as its verdict's finding tells; None when it does not."""
    reading = gpu.get("readings") or {}
    used, capacity, load = (
        reading.get(name) for name in ("memory_used_bytes", "memory_total_bytes", "utilization_percent")
    )
    if used is None or load is None or load > 0 or not capacity or used < 0.05 * capacity:
        return None
    verdict = gpu.get("verdict") or {}
    finding = next((f for f in gpu.get("findings") or [] if f.get("rule") == verdict.get("rule")), None)
    since = moment((finding or {}).get("since"))
    return (asking.now - since).total_seconds() if since else None
