"""Rounds through the nodes, made by the clock: what no report would bring up.

Nodes that are silent, snapshots that wait for a judge, windows not built yet, and what several nodes show
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from api.judging.judge import Judge
from api.judging.nodes import NodeState, is_silent
from gpudiag.examine import STALE

WAITS_SECONDS = 15.0  # no newer snapshot came that would have had a node judged


class Rounds:
    """Has the judge look at nodes of which nobody reports."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._looked_at = 0  # how far this round has come

    def load_some(self, seconds: float, timer: Callable[[], float]) -> bool:
        """Build windows of nodes not asked for yet, for so long; False when all are there."""
        until = timer() + seconds
        for state in list(self._judge.nodes.values()):
            if not state.loaded:
                if timer() >= until:
                    return True
                self._judge.state(state.name)
        return False

    def listen_anew(self, now: float) -> None:
        """Nobody could be heard for a while: silence is counted from now on."""
        for state in list(self._judge.nodes.values()):
            state.window.unheard_since = now

    def tick(self, now: float) -> None:
        """Judge the nodes that are silent, and what waits: nobody else would notice."""
        self._looked_at = 0
        self.go_on(now, lambda: False)

    def go_on(self, now: float, enough: Callable[[], bool]) -> bool:
        """The same from where it was `enough` the last time; whether the round is through."""
        for state in list(self._judge.nodes.values())[self._looked_at :]:
            if enough():
                return False
            self._looked_at += 1
            if state.loaded or not self._judge.alone:
                self._look_at(state, now)
        self._looked_at = 0
        return True

    def _look_at(self, state: NodeState, now: float) -> None:
        judge = self._judge
        if judge.alone and judge.windows.lacks_late_ones(state, now):
            with state.lock:
                judge.build(state)
        window = state.window
        window.hear_no_later_than(now)
        if state.waits and now - max(window.received_at, state.arrived_at) >= WAITS_SECONDS:
            with state.lock, judge.for_itself(state, keep=True):
                judge.be_current(state)
        if not is_silent(window, now):
            return
        if 0.0 <= now - state.judged_by_clock < min(60.0, max(5.0, window.age(now) / 10.0)):
            return  # the longer the silence, the less changes
        state.judged_by_clock = now
        current = state if judge.alone else judge.state(state.name)
        if current is None:
            return  # forgotten meanwhile
        with current.lock, judge.for_itself(current, keep=True):
            judge.examine(current, now, keep=True)
            current.window.rest()

    # ---- several nodes

    def judge_together(self, now: float) -> None:
        """Ask the rules about several nodes; a node that they blame is judged anew."""
        self.catch_up()
        for _ in self.judging_together(now):
            pass

    def catch_up(self) -> None:
        """Know what other processes stored of every node."""
        if not self._judge.alone:
            for name in list(self._judge.nodes):
                self._judge.state(name)

    def judging_together(self, now: float) -> Iterator[None]:
        """The same with pauses in which reports may have their turn."""
        judge = self._judge
        yield from judge.together.judging(now)
        self._judge_moved(now, keep=True)
        for name in judge.together.silent_alone(now):
            state = judge.nodes.get(name)
            if state is not None:
                self._tell_silence(state, now)

    def follow(self, now: float) -> None:
        """Take over what people decided elsewhere, and what the process found that leads."""
        self._judge.hear_decisions()
        self._judge.together.follow()
        self._judge_moved(now, keep=False)

    def _judge_moved(self, now: float, keep: bool) -> None:
        """Judge the nodes about which something opened or ended: it is shown with them."""
        judge = self._judge
        for name in judge.together.take_moved():
            state = judge.nodes.get(name)
            if state is not None and state.loaded:
                with state.lock, judge.for_itself(state, keep=keep):
                    judge.examine(state, judge.moment_of(state, now), keep=keep)

    def _tell_silence(self, state: NodeState, now: float) -> None:
        """Say now what was kept back while many were silent."""
        with state.lock:
            for known in state.open.values():
                if known.finding.rule == STALE:
                    self._judge.tell(state, known.finding, "changed", now)
