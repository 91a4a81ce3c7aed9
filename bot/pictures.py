"""The timeline picture: utilization and memory of one GPU over the last minutes, as SVG and PNG."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.answer import Answer
from bot.answers.asking import Asking
from bot.numbers import moment, span
from bot.questions import Json
from bot.request import Request, Target
from bot.words import say

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP, PANEL = 720, 340, 64, 20, 48, 40, 96
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Picture:
    title: str
    name: str
    png: bytes


def timeline(request: Request, asking: Asking, lang: str) -> Picture | Answer:
    """The picture of a node (its first GPU) or of one GPU; an Answer when there is nothing to draw."""
    target = request.target or Target("")
    gpu = target.gpu if target.gpu is not None else 0
    found = asking.api.history(target.name, gpu=gpu)
    series = read_series(found, gpu)
    points = [point for line in series.values() for point in line if point[1] is not None]
    subject = f"{found.get('node') or target.name}:{gpu}"
    if len(points) < 2:
        return Answer(headline=say(lang, "chart.none", node=subject), lang=lang)
    start, end = min(at for at, _ in points), max(at for at, _ in points)
    title = say(lang, "chart.title", node=subject, span=span(end - start, lang))
    labels = {"util": f"{say(lang, 'c.util')} %", "memory": f"{say(lang, 'c.memory')} GiB"}
    drawing = svg(title, series, (start, end), labels, asking)
    return Picture(title, f"{subject.replace(':', '-gpu')}.png", png(drawing))


def png(drawing: str) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=drawing, width=WIDTH * 2))


def read_series(found: Json, gpu: int) -> dict[str, list[Point]]:
    """The two series of the history that are drawn; a gap stays a gap."""
    return {
        "util": series_of(found, gpu, "utilization_percent", 1.0),
        "memory": series_of(found, gpu, "memory_used_bytes", 1 / 2**30),
    }


def series_of(found: Json, gpu: int, name: str, scale: float) -> list[Point]:
    times = [seconds(at) for at in found.get("times") or []]
    for one in found.get("gpus") or []:
        if one.get("index") == gpu:
            values = (one.get("series") or one).get(name) or []
            return [
                (at, None if value is None else value * scale)
                for at, value in zip(times, values, strict=False)
            ]
    return []


def seconds(at: object) -> float:
    if isinstance(at, (int, float)):
        return float(at)
    found = moment(str(at))
    return found.timestamp() if found else 0.0


def svg(
    title: str,
    series: dict[str, list[Point]],
    when: tuple[float, float],
    labels: dict[str, str],
    asking: Asking,
) -> str:
    """Two panels over one time axis; the line is broken where nothing was measured."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"',
        f' font-family="sans-serif"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 28, title, 16, colour="#1d1c1d"),
    ]
    for place, (name, colour, least) in enumerate((("util", "#1264a3", 100.0), ("memory", "#2eb67d", 1.0))):
        top = TOP + place * (PANEL + GAP)
        most = max([least, *(value for _, value in series[name] if value is not None)])
        most = 100.0 if name == "util" else most * 1.1
        parts += panel(labels[name], series[name], when, top, most, colour)
    parts += axis(when, asking)
    return "\n".join([*parts, "</svg>"])


def panel(
    label: str, line: list[Point], when: tuple[float, float], top: int, most: float, colour: str
) -> list[str]:
    right, bottom = WIDTH - RIGHT, top + PANEL
    parts = [
        f'<rect x="{LEFT}" y="{top}" width="{right - LEFT}" height="{PANEL}"',
        ' fill="#f8f8f8" stroke="#dddddd"/>',
        text(LEFT, top - 6, label, 12),
        text(LEFT - 8, top + 10, f"{most:.0f}", 11, "end"),
        text(LEFT - 8, bottom, "0", 11, "end"),
    ]
    for piece in unbroken(line):
        path = " ".join(f"{across(at, when):.1f},{bottom - value / most * PANEL:.1f}" for at, value in piece)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return parts


def unbroken(line: Sequence[Point]) -> list[list[tuple[float, float]]]:
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, value in line:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((at, value))
    return [piece for piece in pieces if piece]


def across(at: float, when: tuple[float, float]) -> float:
    return LEFT + (at - when[0]) / max(1e-9, when[1] - when[0]) * (WIDTH - RIGHT - LEFT)


def axis(when: tuple[float, float], asking: Asking) -> list[str]:
    y = TOP + 2 * PANEL + GAP + 20
    parts = []
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = datetime.fromtimestamp(when[0] + share * (when[1] - when[0]), UTC).astimezone(asking.zone)
        parts.append(text(across(at.timestamp(), when), y, f"{at:%H:%M:%S %Z}", 11, anchor))
    return parts


def text(x: float, y: float, said: str, size: int, anchor: str = "start", colour: str = "#616061") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">'
        f"{html.escape(said)}</text>"
    )
