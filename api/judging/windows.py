"""Windows of nodes: built from what the store keeps of them, and kept up to date with each snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

import msgspec

from api.judging.earlier import recall_xids
from api.judging.feed import Feed
from api.judging.nodes import NodeState
from api.store import Store
from api.store.snapshots import StoredSnapshot, start_key
from gpudiag.model import Snapshot
from gpudiag.settings import Settings
from gpudiag.window import W5, W30, OtherLayout, Window

log = logging.getLogger("gpudiag.windows")

UNHEARD_SECONDS = 45.0  # as long as a node may be quiet: what was well before is not known to be so
FUTURE_SECONDS = 60.0  # a snapshot from further ahead is not taken
FINE_SECONDS = W5 + 20.0  # what the finest rows cover
MINUTE = 60.0  # the finest of the rows that are packed
REBUILT_SECONDS = 3600.0  # how far back a window is read again at most
LATE_SECONDS = 15.0  # so long after the last report that came late no more of them are waited for
AGAIN_SECONDS = 300.0  # it takes a tenth of a second, in which every report waits


class Windows:
    """How a node's window comes to be. Who calls for one that others may ask holds the node's lock."""

    def __init__(self, store: Store, settings: Settings, feed: Feed, clock: Callable[[], float]) -> None:
        self._store, self._settings, self._feed, self._clock = store, settings, feed, clock
        self._began = clock()
        self._told_of_layout = False

    # ---- from the store

    def build(self, state: NodeState) -> bool:
        """Build the window from the newest snapshots and what was packed of the older ones.

        False where no snapshot is stored.
        """
        newest = self._store.snapshots.newest(state.id)
        packed = self._store.snapshots.packed(state.id) if newest is not None else None
        rows = self._stored_since(state, newest, packed[0] if packed else 0.0) if newest is not None else []
        state.window.end()
        state.window = Window(state.name)
        state.window.unheard_since = None if state.arrived_at else self._began
        self.declare(state)
        for row in rows:
            self.fold_stored(state, row)
        state.window.hear_no_later_than(self._clock())
        if packed is not None:
            state.packed_at = packed[0]
            self._unpack(state, packed[1])
        if rows:
            recall_xids(self._store, state.id, state.window)
        if state.late_at is not None:
            state.late_at, state.rebuilt_at = None, self._clock()
        return bool(rows)

    def _stored_since(self, state: NodeState, newest: float, packed_at: float) -> list[StoredSnapshot]:
        """What the finest rows want, and what came after the coarser ones were packed."""
        return self._store.snapshots.between(state.id, _read_from(newest, packed_at), newest)

    def _unpack(self, state: NodeState, packed: bytes) -> None:
        """Put a node's older past before what was just read of it; one that cannot be read is told."""
        try:
            state.window.unpack(packed)
        except OtherLayout:
            if not self._told_of_layout:  # after an update it is so of every node
                log.warning(
                    "%s, and any other node from before an update, starts anew with its older past:"
                    " another version packed it",
                    state.name,
                )
            self._told_of_layout = True
        except (msgspec.DecodeError, ValueError, TypeError):
            log.warning("the packed window of %s cannot be read; its older past starts anew", state.name)

    def packed(self, states: Iterable[NodeState]) -> Iterator[tuple[int, float, bytes]]:
        """(node id, window's time, packed window) of those whose window moved on."""
        for state in states:
            if state.loaded and state.window.latest is not None and state.window.time > state.packed_at:
                with state.lock:
                    packed, at = state.window.pack(), state.window.time
                yield state.id, at, packed
                state.packed_at = at

    def of_the_past(self, state: NodeState, at: float, span: float | None = None) -> Window | None:
        """A window of its own, as it was at `at`; None where nothing is stored of then.

        With a `span` of nothing but the snapshots of the last `span` seconds before.
        """
        newest = self._store.snapshots.newest_before(state.id, at)
        if newest is None:
            return None
        window = Window(state.name)
        self._declare_settings(window)
        for row in self._store.snapshots.between(state.id, newest - (span or W30), at):
            snapshot = self._read(state, row)
            if snapshot is not None:
                window.add(snapshot, _heard_at(snapshot, row.received_at))
        return window if window.latest is not None else None

    # ---- what people say

    def declare(self, state: NodeState) -> None:
        """Tell the window what settings and people say about its node."""
        self._declare_settings(state.window)
        kept = self._feed.maintained.get(state.id)
        state.window.maintenance_until = kept.until if kept else None

    def _declare_settings(self, window: Window) -> None:
        declared = self._settings.declared(window.node)
        window.expected_gpus = declared.expected_gpus
        if declared.workloads is not None:
            window.allowed_workloads, window.workloads_declared = declared.workloads, True

    # ---- a snapshot more

    def fold(self, state: NodeState, snapshot: Snapshot, received_at: float) -> bool:
        """Fold a snapshot in; False for one that is older than what the window has seen."""
        window = state.window
        clock_went_back = received_at < window.time - FUTURE_SECONDS  # our own, by which all times are told
        if window.latest is not None and snapshot.taken_at <= window.time and not clock_went_back:
            if _read_from(window.time, state.packed_at) <= snapshot.taken_at < window.time:
                state.late_at = received_at  # it belongs before others: the window is built anew
            return False
        window.add(snapshot, _heard_at(snapshot, received_at))
        window.clock_offset_seconds = state.offset or None
        window.catches_up = received_at - snapshot.taken_at > max(UNHEARD_SECONDS, 3.0 * window.interval)
        return True

    def fold_stored(self, state: NodeState, row: StoredSnapshot) -> bool:
        """Fold a stored snapshot in."""
        snapshot = self._read(state, row)
        if snapshot is None:
            return False
        state.last_id = max(state.last_id, row.id)
        if row.received_at >= self._began:
            state.window.unheard_since = None
        if snapshot.agent is not None:
            key = start_key(state.name, snapshot.agent.start_id)
            state.note_start(key, snapshot.agent.sequence, snapshot.taken_at)
        return self.fold(state, snapshot, row.received_at)

    @staticmethod
    def lacks_late_ones(state: NodeState, now: float) -> bool:
        """Whether late reports are to be read from the store: they stopped coming, from the only agent."""
        if state.late_at is None or state.two_agents:
            return False
        waits = 0.0 <= now - state.late_at < LATE_SECONDS
        return not waits and not 0.0 <= now - state.rebuilt_at < AGAIN_SECONDS

    @staticmethod
    def _read(state: NodeState, row: StoredSnapshot) -> Snapshot | None:
        """A stored snapshot; one that cannot be read is left out and told."""
        try:
            return row.snapshot()
        except Exception:
            log.exception("a stored snapshot of %s cannot be read and is left out", state.name)
            return None


def _heard_at(snapshot: Snapshot, received_at: float) -> float:
    """When a node was heard of: of a snapshot that came late, the moment it tells of."""
    interval = snapshot.agent.interval_seconds if snapshot.agent else 10.0
    return snapshot.taken_at if is_late(snapshot.taken_at, received_at, interval) else received_at


def is_late(taken_at: float, received_at: float, interval: float) -> bool:
    """Whether a snapshot waited on its way: it tells of the moment it was taken at, not of now."""
    return received_at - taken_at > 2.0 * interval


def _read_from(newest: float, packed_at: float) -> float:
    """From where on snapshots are read again: a minute that was packed in its middle as a whole."""
    first = max(min(newest - FINE_SECONDS, packed_at), newest - REBUILT_SECONDS)
    return first - first % MINUTE - 0.001
