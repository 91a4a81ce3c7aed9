"""What changed on a node since it was last ok, which means without trouble, and when that was."""

from __future__ import annotations

from dataclasses import dataclass

from api.store import Store
from api.store.episodes import Span
from gpudiag.model import TROUBLE, Finding

REACH_SECONDS = 7 * 86_400.0
MOST_CHANGES = 12
FIRST_LOOK_SECONDS = 60.0  # trouble found so soon after a node's first report was there before


@dataclass(frozen=True, slots=True)
class Happened:
    """A finding that opened, or ended (`resolved`, `gone`)."""

    at: float
    what: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Since:
    """`last_ok` is None where the node was never seen without trouble."""

    last_ok: float | None
    happened: tuple[Happened, ...]


def since_ok(store: Store, node_id: int, first_seen: float, at: float) -> Since | None:
    """What happened between the last time the node was ok and `at`; None when it is ok at that time."""
    spans = [span for span in store.episodes.spans(node_id, at - REACH_SECONDS) if span.opened_at <= at]
    start = _start([span for span in spans if span.severity in TROUBLE], at)
    if start is None:
        return None
    events = [event for span in spans if span.severity != "ok" for event in _events(span, start, at)]
    newest = sorted(events, key=lambda event: event.at)[-MOST_CHANGES:]
    known = start > max(first_seen + FIRST_LOOK_SECONDS, at - REACH_SECONDS)
    return Since(start if known else None, tuple(newest))


def _start(troubles: list[Span], at: float) -> float | None:
    """When the trouble of `at` began: findings that overlap are one stretch of it."""
    start: float | None = None
    for span in sorted(troubles, key=lambda span: -(span.ended_at or at)):
        ended = span.ended_at
        reaches = at if start is None else start
        if ended is not None and ended <= at and ended < reaches:
            break
        if start is not None or ended is None or ended > at:
            start = min(span.opened_at, reaches)
    return start


def _events(span: Span, start: float, at: float) -> list[Happened]:
    found = []
    if span.opened_at >= start:
        found.append(Happened(span.opened_at, "opened", span.finding))
    if span.ended_at is not None and start <= span.ended_at <= at:
        found.append(Happened(span.ended_at, "gone" if span.state == "gone" else "resolved", span.finding))
    return found
