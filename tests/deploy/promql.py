"""As much of PromQL as what we deploy uses: which names an expression has, and when an alert fires.

Any other expression is an error, so that nothing is taken for tested that was not. Where promtool is
installed, test_prometheus.py has it read the same files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

LOOKS_BACK_SECONDS = 300.0
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
SELECTOR = r"(?P<metric>gpudiag_\w+)(?:\{(?P<matchers>[^}]*)\})?"
LABEL = r'(\w+)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)"'

Labels = dict[str, str]


@dataclass
class Series:
    """One time series; a sample without a value says that it ended."""

    name: str
    labels: Labels
    samples: list[tuple[float, float | None]] = field(default_factory=list)

    def value(self, at: float) -> float | None:
        known = [value for time, value in self.samples if at - LOOKS_BACK_SECONDS < time <= at]
        return known[-1] if known else None

    def increase(self, at: float, span: float) -> float | None:
        """How much a counter grew; one that fell began anew."""
        known = [value for time, value in self.samples if at - span <= time <= at and value is not None]
        pairs = list(pairwise(known))
        return sum(new - old if new >= old else new for old, new in pairs) if pairs else None


# ------------------------------------------------------------------------------------ where series come from


def read_page(text: str, at: float) -> list[Series]:
    """The series of a page of /metrics."""
    return [
        series_named(name, [(at, float(value))])
        for name, _, value in (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
    ]


def series_named(name: str, samples: list[tuple[float, float | None]]) -> Series:
    """`gpudiag_nodes{severity="ok"}` with these samples."""
    metric, _, labels = name.partition("{")
    return Series(metric, {label: value for label, _, value in re.findall(LABEL, labels)}, samples)


def written_samples(notation: str, interval: float) -> list[tuple[float, float | None]]:
    """promtool's short hand: `1x3` and `0+2x3` are four values, `_x3` three gaps, `stale` an end."""
    values: list[float | str | None] = []
    for word in notation.split():
        found = re.fullmatch(r"(_|stale|\d+)(?:\+(\d+))?(?:x(\d+))?", word)
        assert found, f"{word!r} is no sample"
        what, step, times = found[1], float(found[2] or 0), int(found[3] or 0)
        if what == "_":
            values += ["gap"] * max(times, 1)
        elif what == "stale":
            values.append(None)
        else:
            values += [float(what) + step * number for number in range(times + 1)]
    return [(number * interval, value) for number, value in enumerate(values) if not isinstance(value, str)]


def seconds(duration: str) -> float:
    return float(duration[:-1]) * UNITS[duration[-1]]


# ------------------------------------------------------------------------------------------- which names


def named(expression: str) -> dict[str, set[str]]:
    """The metrics of an expression, each with the labels that its braces name."""
    found: dict[str, set[str]] = {}
    for selector in re.finditer(SELECTOR, expression):
        labels = found.setdefault(selector["metric"], set())
        labels |= {label for label, *_ in re.findall(LABEL, selector["matchers"] or "")}
    return found


def grouped(expression: str) -> set[str]:
    """The labels that an expression groups or joins by."""
    lists = re.findall(r"\b(?:by|on|without|ignoring|group_left)\s*\(([^)]*)\)", expression)
    return {label.strip() for words in lists for label in words.split(",") if label.strip()}


def not_there(expression: str, told: set[str], series: list[Series]) -> list[str]:
    """The metrics and labels that an expression, or who shows its result, counts on and `series` lack."""
    have: dict[str, set[str]] = {}
    for one in series:
        have.setdefault(one.name, set()).update(one.labels)
    asked = named(expression)
    lacking = [metric for metric in asked if metric not in have]
    lacking += [f"{metric}: {label}" for metric in asked for label in asked[metric] - have.get(metric, set())]
    lacking += sorted(grouped(expression) - {label for metric in asked for label in have.get(metric, ())})
    return lacking + sorted(told - grouped(expression))


# ------------------------------------------------------------------------------------- when an alert fires

ALERT = re.compile(
    r"(?:(?P<verb>max|absent|increase)\s*(?:by\s*\((?P<by>[^)]*)\)\s*)?\()?"
    + SELECTOR
    + r"(?:\[(?P<span>\w+)\])?\)?(?:\s*>\s*(?P<limit>[\d.]+))?"
)


def true_of(expression: str, series: list[Series], at: float) -> list[Labels]:
    """The labels of which an alert's expression is true."""
    read = ALERT.fullmatch(expression)
    assert read, f"{expression!r} is more than is understood here"
    found: list[tuple[Labels, float]] = []
    for one in series:
        if one.name == read["metric"] and matches(one.labels, read["matchers"] or ""):
            span = read["span"]
            value = one.increase(at, seconds(span)) if span else one.value(at)
            if value is not None:
                found.append((one.labels, value))
    if read["verb"] == "absent":
        return [] if found else [{}]
    above = [labels for labels, value in found if value > float(read["limit"])]
    if read["verb"] != "max":
        return above
    kept = re.findall(r"\w+", read["by"] or "")
    groups = [{name: labels[name] for name in kept if name in labels} for labels in above]
    return [group for number, group in enumerate(groups) if group not in groups[:number]]


def matches(labels: Labels, matchers: str) -> bool:
    for name, sign, wanted in re.findall(LABEL, matchers):
        assert sign == "=", f"{sign} is more than is understood here"
        if labels.get(name, "") != wanted:
            return False
    return True


def firing(rule: Mapping[str, Any], series: list[Series], at: float, step: float) -> list[Labels]:
    """Of which labels an alert fires at a time, when its rule was asked in these steps from 0 on."""
    since: dict[tuple[tuple[str, str], ...], float] = {}
    ended: dict[tuple[tuple[str, str], ...], float] = {}
    waits, keeps = seconds(rule.get("for", "0s")), seconds(rule.get("keep_firing_for", "0s"))
    for now in steps(at, step):
        true = {tuple(sorted(labels.items())) for labels in true_of(rule["expr"], series, now)}
        for key in true:
            since.setdefault(key, now)
            ended.pop(key, None)
        for key in since.keys() - true:
            fired = key in ended or now - step - since[key] >= waits
            if not fired or now - ended.setdefault(key, now) >= keeps:
                del since[key]
                ended.pop(key, None)
    return [dict(key) for key, began in since.items() if key in ended or at - began >= waits]


def steps(until: float, step: float) -> Iterator[float]:
    yield from (number * step for number in range(int(until / step) + 1))


def filled(template: str, labels: Labels) -> str:
    """An annotation with an alert's labels, which may stand in a `with` or an `if ne`."""

    def known(found: re.Match[str]) -> str:
        value = labels.get(found[1], "")
        return found[2].replace("{{ . }}", value) if value else ""

    def other(found: re.Match[str]) -> str:
        return "" if labels.get(found[1], "") == found[2] else found[3]

    whole = re.sub(r"\{\{ with \$labels\.(\w+) \}\}(.*?)\{\{ end \}\}", known, template)
    whole = re.sub(r"\{\{ if ne \$labels\.(\w+) `(\w+)` \}\}(.*?)\{\{ end \}\}", other, whole)
    whole = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels.get(found[1], ""), whole)
    assert "{{" not in whole, f"{template!r} is more than is understood here"
    return whole
