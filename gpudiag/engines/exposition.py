"""Prometheus text exposition, read leniently: what is not a sample line is skipped.

Some servers answer the page as one JSON string, leave out `_total`, or write `NaN`. Colons are part of names.
https://prometheus.io/docs/instrumenting/exposition_formats/ (read 2026-11)
"""

from __future__ import annotations

import json
import math
import re
from typing import NamedTuple

_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+([^\s]+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')


class Sample(NamedTuple):
    """One line of the page."""

    labels: dict[str, str]
    value: float


Page = dict[str, list[Sample]]


def parse(text: str) -> Page:
    """Samples by metric name."""
    if text.startswith('"'):
        try:
            unquoted = json.loads(text)
        except ValueError:
            unquoted = text
        text = unquoted if isinstance(unquoted, str) else text
    page: Page = {}
    for line in text.splitlines():
        if not line or line[0] == "#" or len(line) > 4096:
            continue
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if math.isnan(value):
            continue
        labels = {name: _unescape(raw) for name, raw in _LABEL.findall(match[2] or "")}
        page.setdefault(match[1], []).append(Sample(labels, value))
    return page


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def samples(page: Page, *names: str) -> list[Sample]:
    """Samples of the first of `names` that the page carries, with or without `_total`."""
    for name in names:
        for spelling in (name, name.removesuffix("_total"), f"{name}_total"):
            if spelling in page:
                return page[spelling]
    return []


_COPIES = ("tp_rank", "pp_rank", "moe_ep_rank")


def values(page: Page, *names: str) -> list[float]:
    """Values of a metric, one for each independent part of the server.

    Ranks that hold copies of one another (tensor and pipeline parallel) count once, with the largest value;
    series broken down by priority are left out in favour of the series without one.
    """
    found = [sample for sample in samples(page, *names) if not sample.labels.get("priority")]
    if len(found) < 2:
        return [sample.value for sample in found]
    parts: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in found:
        key = tuple(sorted(item for item in sample.labels.items() if item[0] not in _COPIES))
        parts[key] = max(sample.value, parts.get(key, sample.value))
    return list(parts.values())


def quantile(page: Page, name: str, before: dict[str, float], share: float) -> float | None:
    """A quantile of what a histogram gained since `before` ({le: count}), by linear interpolation.

    None when nothing was gained. The upper edge of the last finite bucket stands for what lies above it.
    """
    buckets = bucket_counts(page, name)
    gained = {edge: count - before.get(edge, 0.0) for edge, count in buckets.items()}
    if any(value < 0 for value in gained.values()):
        gained = buckets  # the server restarted
    ordered = sorted((float(edge), count) for edge, count in gained.items())
    total = ordered[-1][1] if ordered else 0.0
    if total <= 0:
        return None
    wanted, low, below = share * total, 0.0, 0.0
    for edge, count in ordered:
        if count >= wanted:
            if math.isinf(edge):
                return low
            return low + (edge - low) * (wanted - below) / max(count - below, 1e-9)
        low, below = edge, count
    return low


def bucket_counts(page: Page, name: str) -> dict[str, float]:
    """Cumulated counts of a histogram by upper edge, over all its label sets."""
    counts: dict[str, float] = {}
    for sample in page.get(f"{name}_bucket", []):
        edge = sample.labels.get("le")
        if edge is not None:
            counts[edge] = counts.get(edge, 0.0) + sample.value
    return counts
