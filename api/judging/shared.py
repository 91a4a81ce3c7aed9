"""Judging on a store that other processes write, too: PostgreSQL.

Before a node is judged or asked for, what others wrote of it is caught up with, by the snapshots' numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

from api.judging.judge import Judge
from api.judging.nodes import NodeState
from api.store.snapshots import StoredNode
from gpudiag.model import Finding


class SharedJudge(Judge):
    """A judge beside others, each in its process: what reports bring is kept, what a look finds is not."""

    alone = False

    def state(self, name: str) -> NodeState | None:
        """A node as the store has it now; None when unknown."""
        row = self.store.snapshots.node(name)
        if row is None:
            self.forget(name)
            return None
        state = self.nodes.get(name)
        if state is None or state.id != row.id:
            state = self.nodes[name] = NodeState(row)
        with state.lock:
            if not state.loaded or self.windows.lacks_late_ones(state, self.clock()):
                state.take_over(row)
                self.load(state)
            else:
                self._catch_up(state, row)
        return state

    def _catch_up(self, state: NodeState, row: StoredNode) -> None:
        rows = self.store.snapshots.after(state.id, state.last_id)
        if not rows and row.version == state.version:
            return
        state.open = self.store.episodes.open_of(state.id)
        state.take_over(row)
        with self.for_itself(state, keep=False):
            for stored in rows:
                if self.windows.fold_stored(state, stored):
                    late = stored.received_at - stored.taken_at > 2.0 * state.window.interval
                    self.examine(state, stored.taken_at if late else stored.received_at, keep=False)
            if not rows:
                self.examine(state, max(self.clock(), state.window.received_at), keep=False)

    def see_others(self) -> None:
        """Take over which nodes there are and what others judged, as lists show it."""
        rows = self.store.snapshots.nodes()
        for row in rows:
            state = self.nodes.get(row.name)
            if state is None or state.id != row.id:
                self.nodes[row.name] = NodeState(row)
                continue
            state.window.received_at = max(state.window.received_at, row.last_seen)
            state.stored_load = row.load
            if row.version != state.version:
                with state.lock:
                    state.take_over(row)
                    state.checkup, state.rank, state.order = None, None, None
                    state.loaded, state.last_id = False, 0
                    state.headlines = {}
                    state.said.clear()
        for name in self.nodes.keys() - {row.name for row in rows}:
            self.forget(name)

    def judged(self) -> list[NodeState]:
        self.see_others()
        return [state for state in list(self.nodes.values()) if state.rank is not None or state.stored]

    def open_findings(self, states: Iterable[NodeState]) -> list[tuple[NodeState, list[Finding]]]:
        """As they are stored: this process has not caught up with every node."""
        stored = self.store.episodes.open_findings()
        return [(state, stored.get(state.id, [])) for state in states]
