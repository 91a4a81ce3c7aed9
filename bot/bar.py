"""A memory bar in character cells: for Slack's code blocks, terminals and pages alike."""

from __future__ import annotations

from bot.answer import Bar
from bot.numbers import percent, size
from bot.text import one_line
from bot.words import say
from gpudiag.words.columns import cells

BAR_GLYPHS = {"weights": "█", "kv_pool": "▓", "overhead": "▒", "other": "▚", "free": "░", "outside": "·"}
BAR_WIDTH = 28  # a preformatted line wraps on a phone beyond about 30 characters


def bar_lines(bar: Bar, lang: str) -> list[str]:
    """The bar and, below it, its parts in words and numbers."""
    return [bar_line(bar), *legend(bar, lang)]


def bar_line(bar: Bar) -> str:
    """The parts in proportion. What does not fit stands beyond the card's edge, drawn as `|`."""
    used = sum(part.bytes for part in bar.slices)
    whole = max(used, bar.total_bytes or 0) or 1
    line, so_far = "", 0.0
    for part in bar.slices:
        so_far += part.bytes
        line += BAR_GLYPHS[part.role] * (round(so_far / whole * BAR_WIDTH) - len(line))
    if not bar.over_bytes or not bar.total_bytes:
        return line
    edge = round(bar.total_bytes / whole * BAR_WIDTH)
    return f"{line[:edge]}|{line[edge:]}"


def legend(bar: Bar, lang: str) -> list[str]:
    width = max(min(16, cells(part.label)) for part in bar.slices)
    lines = []
    for part in bar.slices:
        label = one_line(part.label)[:16]
        pad = " " * (width - cells(label))
        lines.append(f"{BAR_GLYPHS[part.role]} {label}{pad} {size(part.bytes):>10}")
        if part.filled is not None:
            lines.append(f"  {say(lang, 'p.filled', percent=percent(part.filled * 100))}")
    if bar.total_bytes:
        sign, label = ("|", say(lang, "p.edge")) if bar.over_bytes else ("=", say(lang, "p.card"))
        pad = " " * max(0, width - cells(label))
        lines.append(f"{sign} {label}{pad} {size(bar.total_bytes):>10}")
    if bar.over_bytes:
        lines.append(f"! {say(lang, 'over', size=size(bar.over_bytes))}")
    return lines
