"""Bars and timelines of a page, from the JSON that the answers carry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from markupsafe import Markup

from api.web.words import SENTENCES
from gpudiag.charts import Series, memory_bar_svg, timeline_svg
from gpudiag.words import Language

WIDTH = 380  # drawn for a phone; larger screens scale it up a little


def bar(ledger: Mapping[str, Any] | None, language: Language) -> Markup:
    """The memory bar of one GPU, or nothing where its memory is not known."""
    if not ledger or not ledger.get("total_bytes"):
        return Markup("")
    if not ledger["parts"] and ledger["used_bytes"] is None:
        return Markup("")
    return Markup(memory_bar_svg(ledger, language=language, width=WIDTH))


def timeline(
    gpu: Mapping[str, Any],
    history: Mapping[str, Any] | None,
    language: Language,
    seconds: float,
    age_seconds: float = 0.0,
) -> Markup:
    """Utilization and memory of one GPU over the last `seconds`, or nothing where nothing was kept.

    `age_seconds` is how long ago the last report came: so much at the end of the picture stays empty.
    """
    kept: Mapping[str, Any] = next(
        (one for one in (history or {}).get("gpus", ()) if one["index"] == gpu["index"]), {}
    )
    series = kept.get("series", {})
    utilization = series.get("utilization_percent") or []
    memory = series.get("memory_used_bytes") or []
    total = gpu["readings"].get("memory_total_bytes") or kept.get("memory_total_bytes")
    if history is None or not (utilization or memory):
        return Markup("")
    used = [(at, None if value is None else 100 * value / total) for at, value in memory] if total else []
    end = _end(history, [points[-1][0] for points in (utilization, memory) if points]) + age_seconds
    said = SENTENCES[language]
    return Markup(
        timeline_svg(
            [
                Series(said["utilization_now"], [(at, value) for at, value in utilization]),
                *([Series(said["memory_now"], used, "area")] if used else []),
            ],
            start=end - seconds,
            end=end,
            title=said["timeline_of"].format(index=gpu["index"]),
            language=language,
            width=WIDTH,
            height=148,
        )
    )


def _end(history: Mapping[str, Any], last: list[float]) -> float:
    """Where the picture ends: a GPU that is gone stops before it."""
    told = history.get("to")
    return datetime.fromisoformat(told).timestamp() if told else max(last)
