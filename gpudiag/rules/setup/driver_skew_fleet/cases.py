"""Situations of driver-skew-fleet and its look-alikes."""

from __future__ import annotations

from typing import Any

from gpudiag.fleet import Fleet
from gpudiag.rule import Case
from gpudiag.rules.situations import START, Situation


def _pool(*versions: str | None, pools: list[str] | None = None) -> Any:
    windows = {}
    for i, version in enumerate(versions):
        s = Situation(node=f"node-{i}")
        s.extra["labels"] = {"pool": pools[i] if pools else "training"}
        s.reports()
        s.window.latest.driver_version = version  # type: ignore[union-attr]
        windows[s.window.node] = s.window
    return Fleet(windows=windows, now=START + 10)


CASES = [
    Case(
        "one of ten nodes was left out",
        lambda: _pool(*["580.95.05"] * 9, "570.124.06"),
        "fires",
        severity="info",
        confidence="proven",
        gpu=None,
    ),
    Case("all alike", lambda: _pool(*["580.95.05"] * 10), "clear", gpu=None),
    Case(
        "half and half is a rollout",
        lambda: _pool(*["580.95.05"] * 5, *["570.124.06"] * 5),
        "clear",
        gpu=None,
    ),
    Case(
        "too few nodes to speak of a rule",
        lambda: _pool("580.95.05", "580.95.05", "570.124.06"),
        "clear",
        gpu=None,
    ),
    Case(
        "two pools, each with its own",
        lambda: _pool(*["580.95.05"] * 9, "570.124.06", pools=[*["training"] * 9, "serving"]),
        "clear",
        gpu=None,
    ),
    Case(
        "a node whose version is not known is not odd",
        lambda: _pool(*["580.95.05"] * 9, None),
        "clear",
        gpu=None,
    ),
]
