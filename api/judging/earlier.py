"""Faults of before the window: what a server that was started again still knows of them, by its findings."""

from __future__ import annotations

from api.store import Store
from api.store.episodes import Span
from gpudiag.model import KernelEvent
from gpudiag.window import W7D, Window, bus_key
from gpudiag.window.node import EVENTS_KEPT


def recall_xids(store: Store, node_id: int, window: Window) -> None:
    """Put the Xids that findings of the last week tell of before the events that the window has.

    A finding that ended in this boot is left out: what ended it would not be known beside it.
    """
    host = window.latest.host if window.latest else None
    booted_at = host.booted_at if host and host.booted_at is not None else 0.0
    known = {(e.number, bus_key(e.bus_id)) for e in window.events if e.bus_id and (e.at or 0.0) >= booted_at}
    found = []
    for span in store.episodes.spans(node_id, window.time - W7D):
        event = _event_of(span)
        if event is None or (span.ended_at is not None and span.opened_at >= booted_at):
            continue
        if span.opened_at < booted_at or (event.number, bus_key(event.bus_id or "")) not in known:
            found.append(event)
    room = EVENTS_KEPT - len(window.events)
    newest_first = sorted(found, key=lambda event: -(event.at or 0.0))[:room]
    window.events.extendleft(newest_first)


def _event_of(span: Span) -> KernelEvent | None:
    """The kernel event that a finding tells of; None where it tells of none, or its subject is no more."""
    finding = span.finding
    values = {evidence.name: evidence.value for evidence in finding.evidence}
    number, bus = values.get("xid"), finding.words.get("bus")
    if span.state == "gone" or not isinstance(number, int) or not bus or bus == "?":
        return None
    return KernelEvent(
        kind="xid",
        at=span.opened_at,
        number=number,
        bus_id=str(bus),
        gpu=finding.gpu,
        text=str(values.get("kernel_line", "")),
        count=int(values.get("event_count", 1)),
    )
