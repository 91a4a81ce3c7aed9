"""The timeline picture: utilization and memory of one GPU, drawn as the web pages draw it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.answer import Answer
from bot.answers.asking import Asking
from bot.numbers import span
from bot.questions import Json
from bot.request import Request, Target
from bot.words import say

WIDTH = 720
LETTERS = Path(__file__).parent / "fonts" / "letters.otf"  # a server in a container has no fonts
FAMILY = "Noto Sans CJK KR"  # as that file calls itself
Points = list[tuple[float, float | None]]


@dataclass(frozen=True)
class Picture:
    title: str
    name: str
    png: bytes


def timeline(request: Request, asking: Asking, lang: str) -> Picture | Answer:
    """The picture of one GPU (else the node's first); an Answer when there is nothing to draw."""
    target = request.target or Target("")
    found = asking.api.history(target.place, lang=lang)
    gpu = target.gpu if target.gpu is not None else first_gpu(found)
    subject = f"{found.get('node') or target.name}:{gpu}"
    utilization, memory = series_of(found, gpu)
    times = [at for points in (utilization, memory) for at, value in points if value is not None]
    if len(times) < 2:
        return Answer(headline=say(lang, "chart.none", node=subject), lang=lang)
    title = say(lang, "chart.title", node=subject, span=span(max(times) - min(times), lang))
    drawing = svg(title, utilization, memory, (min(times), max(times)), lang)
    return Picture(title, f"{subject.replace(':', '-gpu')}.png", png(drawing))


def svg(title: str, utilization: Points, memory: Points, when: tuple[float, float], lang: str) -> str:
    from gpudiag.charts import Series, timeline_svg

    curves = [
        Series(f"{say(lang, 'c.util')} %", utilization),
        Series(f"{say(lang, 'c.memory')} %", memory, "area"),
    ]
    return timeline_svg(curves, start=when[0], end=when[1], title=title, language=lang)


def png(drawing: str) -> bytes:
    import resvg_py

    drawn = resvg_py.svg_to_bytes(
        svg_string=drawing,
        width=WIDTH * 2,
        background="#ffffff",
        skip_system_fonts=True,
        font_files=[str(LETTERS)],
        font_family=FAMILY,
        sans_serif_family=FAMILY,
    )
    return bytes(drawn)


def first_gpu(found: Json) -> int:
    gpus = found.get("gpus") or []
    return int(gpus[0]["index"]) if gpus else 0


def series_of(found: Json, gpu: int) -> tuple[Points, Points]:
    """Utilization, and memory as a share of the card. Where a total is not known there is no curve."""
    one: Json = next((entry for entry in found.get("gpus") or [] if entry.get("index") == gpu), {})
    series, total = one.get("series") or {}, one.get("memory_total_bytes")
    utilization = [(at, value) for at, value in series.get("utilization_percent") or ()]
    used = series.get("memory_used_bytes") or () if total else ()
    return utilization, [(at, None if value is None else 100 * value / total) for at, value in used]
