"""Pictures as SVG text: one source for the web pages and for Slack.

Pure and without a library. Colours are presentation attributes, so that a renderer without style sheets
draws them; each shape also carries a class, by which a page's style sheet may repaint it for a dark screen.
Nothing is ever cut to fit: what exceeds the card is drawn beyond the card's edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import median
from typing import Any, Literal

from gpudiag.words import units, words

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans KR', 'Noto Sans', sans-serif"

PAINT: Mapping[str, str] = {  # by class; on a dark screen the pages' style sheet has others
    "ink": "#1f2328",
    "faint": "#656d76",
    "grid": "#d8dee4",
    "line": "#0b62d0",
    "area": "#d9cdf2",
    "edge": "#7c5cc4",
    "card": "#f0f2f5",
    "driver": "#8b949e",
    "weights": "#3a6ea5",
    "kv-pool": "#d9cdf2",
    "kv-filled": "#7c5cc4",
    "runtime": "#7fa8b8",
    "other": "#c08a3e",
    "unaccounted": "#b8bec5",
    "over": "#c4262e",
    "on-dark": "#ffffff",
    "on-mid": "#1f2328",
}

WRITING = {"weights": "on-dark", "runtime": "on-mid", "other": "on-mid"}
"""What is written with upon a part, where it is not ink."""
THICK, BAND = 30.0, 7.0  # of the memory bar, and of what is filled of a part
LARGEST_LETTERS = 14  # on a phone, where the pages' style sheet enlarges the 11 of a picture that shrinks

PART_CLASS = {
    "weights": "weights",
    "kv_pool": "kv-pool",
    "runtime": "runtime",
    "other_process": "other",
    "unaccounted": "unaccounted",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, in percent of its whole. `points` are (Unix seconds, value), None where nothing is known."""

    label: str
    points: Sequence[tuple[float, float | None]]
    style: Literal["line", "area"] = "line"


class _Drawing:
    """SVG text in the making."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, paint: str, title: str = "") -> None:
        inside = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(
            f'<rect class="c-{paint}" x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" '
            f'height="{height:.1f}" fill="{PAINT[paint]}">{inside}</rect>'
        )

    def rule(self, x1: float, y1: float, x2: float, y2: float, paint: str, width: float = 1) -> None:
        self.parts.append(
            f'<line class="s-{paint}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{PAINT[paint]}" stroke-width="{width:g}"/>'
        )

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "start", paint: str = "faint", size: float = 11
    ) -> None:
        self.parts.append(
            f'<text class="c-{paint}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
            f'fill="{PAINT[paint]}">{escape(text)}</text>'
        )

    def path(
        self, path: str, *, fill: str | None = None, stroke: str | None = None, width: float = 1.5
    ) -> None:
        paint = f'class="c-{fill}" fill="{PAINT[fill]}"' if fill else 'fill="none"'
        if stroke:
            paint = f'class="s-{stroke}" fill="none" stroke="{PAINT[stroke]}" stroke-width="{width:g}"'
            paint += ' stroke-linejoin="round"'
        self.parts.append(f'<path d="{path}" {paint}/>')

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" font-family="{FONT}">'
            f"<title>{escape(self.title)}</title>{''.join(self.parts)}</svg>"
        )


# ----------------------------------------------------------------------------------------- timeline


def timeline_svg(
    series: Iterable[Series],
    *,
    start: float,
    end: float,
    title: str,
    language: str = "en",
    width: float = 440,
    height: float = 158,
) -> str:
    """Curves over the time from `start` to `end` on one axis of 0 to 100 percent; areas lie behind lines.

    Where samples are missing the curve is broken: nothing is drawn as zero.
    """
    drawing = _Drawing(width, height, title)
    left, right, top, bottom = 44.0, width - 6.0, 28.0, height - 18.0
    span = max(end - start, 1.0)

    def x(at: float) -> float:
        return left + (right - left) * min(1.0, max(0.0, (at - start) / span))

    def y(percent: float) -> float:
        return bottom - (bottom - top) * min(100.0, max(0.0, percent)) / 100

    curves = sorted(series, key=lambda one: one.style == "line")
    for curve in curves:
        if curve.style == "area":
            _area(drawing, curve, x, y, bottom)
    for percent in (0, 50, 100):
        drawing.rule(left, y(percent), right, y(percent), "grid")
        drawing.text(left - 5, y(percent) + 4, f"{percent} %" if percent else "0", anchor="end", size=10)
    for curve in curves:
        if curve.style == "line":
            for run in _runs(curve.points, start):
                drawing.path(_line(run, x, y), stroke="line", width=1.8)
    own = words(language).CHART
    ago = own["ago"].format(span=units.duration(span, language))
    drawing.text(left, height - 4, ago, size=10)
    drawing.text(right, height - 4, own["now"], anchor="end", size=10)
    _key(drawing, curves)
    return drawing.svg()


def _area(drawing: _Drawing, curve: Series, x: Any, y: Any, bottom: float) -> None:
    for run in _runs(curve.points, -1e18):
        ends = f"L{x(run[-1][0]):.1f} {bottom:.1f}L{x(run[0][0]):.1f} {bottom:.1f}Z"
        drawing.path(_line(run, x, y) + ends, fill="area")
        drawing.path(_line(run, x, y), stroke="edge", width=1.2)


def _key(drawing: _Drawing, curves: Sequence[Series]) -> None:
    """The names of the curves above the picture, each beside its stroke."""
    at = 4.0
    for curve in reversed(curves):
        if curve.style == "line":
            drawing.rule(at, 9, at + 14, 9, "line", 2.4)
        else:
            drawing.box(at, 4, 14, 10, "area")
            drawing.rule(at, 4, at + 14, 4, "edge", 1.2)
        drawing.text(at + 19, 13, curve.label, paint="ink", size=11)
        at += 19 + _length(curve.label, LARGEST_LETTERS) + 6


def _length(text: str, size: float) -> float:
    """About how far a text of this size reaches; Hangul is wider."""
    return 0.52 * size * sum(1.75 if ord(c) > 0x1100 else 1.0 for c in text)


def _line(run: Sequence[tuple[float, float]], x: Any, y: Any) -> str:
    if len(run) == 1:
        at, value = run[0]
        return f"M{x(at) - 1.5:.1f} {y(value):.1f}H{x(at) + 1.5:.1f}"
    return "M" + "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in run)


def _runs(points: Sequence[tuple[float, float | None]], start: float) -> list[list[tuple[float, float]]]:
    """Unbroken stretches: a point that is not known, or a long pause, ends one."""
    steps = [b[0] - a[0] for a, b in pairwise(points) if b[0] > a[0]]
    longest = 3.5 * median(steps) if steps else 0.0
    runs: list[list[tuple[float, float]]] = []
    before: float | None = None
    for at, value in points:
        if value is None or at < start:
            before = None
            continue
        if before is None or at - before > longest:
            runs.append([])
        runs[-1].append((at, value))
        before = at
    return runs


# --------------------------------------------------------------------------------------- memory bar


def memory_bar_svg(ledger: Mapping[str, Any], *, language: str = "en", width: float = 440) -> str:
    """The memory of one GPU as a bar, from a ledger as the diagnosis has it.

    Each part with room for it bears its name and size, so that the bar reads without colours. The KV pool is
    one slot whose filled share is a darker band inside. Parts beyond the card's total stand right of the
    card's edge, in red, with the amount.
    """
    slots = _slots(ledger, language)
    total = ledger.get("total_bytes")
    held = sum(slot.bytes for slot in slots if slot.paint != "card")
    scale = max(total or 0, held, 1)
    over = max(0, held - total) if total else 0
    top = 18.0 if over else 2.0
    edge = width * (total / scale) if total else width
    drawing = _Drawing(width, top + THICK + 4, bar_words(ledger, language))
    drawing.box(0, top, edge, THICK, "card")
    at = 0.0
    for slot in slots:
        long = width * slot.bytes / scale
        _slot(drawing, slot, at, top, long, language)
        if at + long <= edge + 0.1:
            _name(drawing, slot, at + 6, top + 18, long - 12)
        at += long
    if over and total:
        _beyond(drawing, edge, top, total, over, language)
    return drawing.svg()


def _slot(drawing: _Drawing, slot: Slot, at: float, top: float, long: float, language: str) -> None:
    """One part, with the band of what is filled of it, and a line that parts it from the one before."""
    drawing.box(at, top, long, THICK, slot.paint, f"{slot.label}: {units.size(slot.bytes)}")
    if slot.filled:
        filled = words(language).CHART["filled"].format(size=units.size(slot.filled))
        reaches = long * min(1.0, slot.filled / slot.bytes)
        drawing.box(at, top + THICK - BAND, reaches, BAND, "kv-filled", filled)
    if at:
        drawing.rule(at, top, at, top + THICK, "grid", 1)


def _beyond(drawing: _Drawing, edge: float, top: float, total: int, over: int, language: str) -> None:
    """What stands beyond the card's edge, and how much that is."""
    own = words(language).CHART
    amount = own["over"].format(size=units.size(over))
    drawing.box(edge, top + 7, drawing.width - edge, THICK - 14, "over", amount)
    drawing.rule(edge, top - 3, edge, top + THICK + 4, "ink", 2)
    drawing.text(0, 12, own["card"].format(total=units.size(total)), size=11)
    drawing.text(drawing.width, 12, amount, anchor="end", paint="over", size=11)


def _name(drawing: _Drawing, slot: Slot, x: float, y: float, room: float) -> None:
    """The part's name upon it, with its size where both fit; nothing where not even the name does."""
    for text in (f"{slot.label} {units.size(slot.bytes)}", slot.label):
        if _length(text, LARGEST_LETTERS) <= room:
            drawing.text(x, y, text, paint=WRITING.get(slot.paint, "ink"))
            return


@dataclass(frozen=True, slots=True)
class Slot:
    """One stretch of the bar."""

    label: str
    bytes: int
    paint: str
    filled: int | None = None


def _slots(ledger: Mapping[str, Any], language: str) -> list[Slot]:
    said = words(language)
    slots = []
    reserve = ledger.get("driver_reserved_bytes")
    if reserve:
        slots.append(Slot(said.LABEL["driver_reserved"], reserve, "driver"))
    for part in ledger["parts"]:
        name, filled = part["part"], part.get("filled_bytes")
        slots.append(Slot(said.PARTS[name], part["bytes"], PART_CLASS[name], filled))
    total, held = ledger.get("total_bytes"), sum(slot.bytes for slot in slots)
    if total and total > held and ledger.get("free_bytes") is not None:  # else the rest is not known
        slots.append(Slot(said.LABEL["free"], total - held, "card"))
    return slots


def bar_words(ledger: Mapping[str, Any], language: str = "en") -> str:
    """The bar as one sentence, for people who do not see it."""
    own = words(language).CHART
    said = [f"{slot.label} {units.size(slot.bytes)}" for slot in _slots(ledger, language)]
    if ledger.get("over_capacity_bytes"):
        said.append(own["over"].format(size=units.size(ledger["over_capacity_bytes"])))
    return ", ".join(said)
