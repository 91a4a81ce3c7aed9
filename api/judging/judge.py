"""Every node, judged as its snapshots arrive.

A node's window is built from the store when it is first needed, and then kept up to date in place (see
windows.py). What changes goes into the feed, which the writer writes. Knows no HTTP; the clock is given.
"""

from __future__ import annotations

import contextlib
import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, cast

from api.judging.facts import facts_of
from api.judging.feed import Feed, in_order
from api.judging.nodes import FAILED, NodeState, Place, is_silent, place_of_node
from api.judging.signs import CALM_SECONDS, NEVER_CALM, signs_of
from api.judging.together import TOGETHER, Together
from api.judging.windows import UNHEARD_SECONDS, Windows, is_late
from api.judging.wording import Wording
from api.store import Store, StoreError
from api.store.snapshots import StoredNode
from gpudiag.changes import Changes, Key, OpenFinding, reconcile, still_open
from gpudiag.examine import STALE, Ruleset, judge, precedence, survives_silence
from gpudiag.model import SEVERITY_ORDER, Checkup, Finding, Severity, Snapshot, Unjudged
from gpudiag.settings import Settings
from gpudiag.verdict import verdict_of_node
from gpudiag.window import Window
from gpudiag.words import LANGUAGES, Language

log = logging.getLogger("gpudiag.judge")

TOLD_SECONDS = 1.0  # what is told of a node's silence is no older


class Judge:
    """The nodes of this process, and the one way in which they are judged."""

    alone: ClassVar[bool] = True
    """No other process judges them: what any look finds is kept."""

    def __init__(self, store: Store, settings: Settings, rules: Ruleset, clock: Callable[[], float]) -> None:
        self.store, self.rules, self.clock = store, rules, clock
        self.nodes: dict[str, NodeState] = {row.name: NodeState(row) for row in store.snapshots.nodes()}
        self.wording = Wording(rules)
        self.feed = Feed(store, clock)
        self.windows = Windows(store, settings, self.feed, clock)
        self.together = Together(store, self.nodes, self.feed, rules, clock)

    # ---- nodes

    def state(self, name: str) -> NodeState | None:
        """A node with its window, built from the store when this is the first time; None when unknown."""
        state = self.nodes.get(name)
        if state is not None and not state.loaded:
            with state.lock:
                if not state.loaded:
                    self.load(state)
        return state

    def see_others(self) -> None:
        """Take over what other processes wrote: here there are none (see api/judging/shared.py)."""

    def unload(self, states: Iterable[NodeState]) -> None:
        """Forget what is in memory of nodes: it is built from the store again."""
        for state in states:
            with state.lock:
                state.forget_memory()

    def add_node(self, node_id: int, name: str) -> NodeState:
        now = self.clock()
        state = NodeState(StoredNode(node_id, name, now, now, 0, None, None))
        self.windows.declare(state)
        state.loaded = True
        self.nodes[name] = state
        return state

    def load(self, state: NodeState) -> None:
        """What is open, and the window."""
        state.open = self.store.episodes.open_of(state.id)
        self._discount_absence(state)
        self.build(state)

    def _discount_absence(self, state: NodeState) -> None:
        """A time in which nobody looked clears nothing: since when findings are clear moves on by it."""
        clear = [known for known in state.open.values() if known.clear_since is not None]
        newest = self.store.snapshots.newest(state.id) if clear else None
        if newest is None:
            return
        now = self.clock()
        for known in clear:
            known.clear_since = min(now, (known.clear_since or 0.0) + max(0.0, now - newest))
        if self.alone:
            self.feed.keep_clear_since(state.id, clear)

    def build(self, state: NodeState) -> None:
        """The window, and the node judged by it."""
        with self.for_itself(state, keep=self.alone):
            if self.windows.build(state):
                self.examine(state, self.moment_of(state, self.clock()), keep=self.alone)
        state.loaded = True

    def forget(self, name: str) -> None:
        state = self.nodes.pop(name, None)
        if state is not None:
            state.window.end()

    # ---- an arriving snapshot

    def arrive(self, state: NodeState, snapshot: Snapshot, received_at: float) -> None:
        """Fold a new snapshot in and judge its node; what changed joins the feed."""
        # An agent that catches up sends old reports, and is not silent.
        state.judged_by_clock = state.arrived_at = received_at
        state.window.unheard_since = None
        with state.lock:
            with self.for_itself(state, keep=True):
                if self.windows.fold(state, snapshot, received_at):
                    self._judge_in_time(state, received_at)
            state.window.rest()

    def _judge_in_time(self, state: NodeState, received_at: float) -> None:
        """Judge now when something changed or the last time is long ago; else it waits (see signs.py)."""
        window = state.window
        if self.alone:
            signs = signs_of(window)
            calm = signs != NEVER_CALM and signs == state.signs
            state.signs = signs
            if calm and 0.0 <= window.time - state.judged_time < CALM_SECONDS:
                state.waits = True
                if state.checkup is not None and window.latest is not None:
                    state.checkup.snapshot = window.latest  # else two snapshots a node stay in memory
                return
        self.examine(state, self._now_for(window, received_at), keep=True)

    @staticmethod
    def _now_for(window: Window, received_at: float) -> float:
        """The judge's time: that of the data when it came late."""
        return window.time if is_late(window.time, received_at, window.interval) else received_at

    def be_current(self, state: NodeState) -> None:
        """Judge a node whose newest snapshot still waits for it, or failed; the caller holds its lock."""
        if state.waits or state.checkup is None:
            self.examine(state, self._now_for(state.window, state.window.received_at), keep=True)
            state.window.rest()

    # ---- judging

    @contextlib.contextmanager
    def for_itself(self, state: NodeState, keep: bool) -> Iterator[None]:
        """Whatever a node's snapshots do to our rules, only it is unknown: others report in the same turn."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            self._cannot_judge(state, error, keep)

    def _cannot_judge(self, state: NodeState, error: Exception, keep: bool) -> None:
        _log(state, error)
        state.checkup, state.rank = None, FAILED
        state.headlines = {}
        state.said.clear()
        if keep and state.told != FAILED:
            self._say(state, self.clock())

    def examine(self, state: NodeState, now: float, keep: bool) -> None:
        """Judge a node as its window has it at `now`; `keep`: write what changed, and tell it."""
        window = state.window
        if window.latest is None:
            return
        state.waits, state.judged_time = False, window.time
        checkup = judge(window, self.rules, now)
        changes = self._reconciled(state, checkup, keep)
        if window.catches_up and not any(finding.rule == STALE for finding in checkup.findings):
            checkup.unjudged.append(Unjudged(STALE, ["reports"], reason="catching_up"))
        about = self.together.about(checkup.node)
        checkup.findings = self.shown(changes.open, checkup, window, about)
        state.checkup = checkup
        state.headlines = {}  # another one: who puts the last checkup in words just now fills the old one
        state.said.clear()
        verdict = verdict_of_node(checkup, self.rules)
        if state.rank != (verdict.severity, verdict.rule):
            state.rank = (verdict.severity, verdict.rule)
        if keep and (changes.any or state.told != state.rank):
            with self.feed.lock:  # written together, or not at all
                for what, finding in in_order(changes):
                    self.tell(state, finding, what, now)
                self.feed.keep(state.id, changes, now)
                self._say(state, now)
        elif keep and changes.turned:
            self.feed.keep_clear_since(state.id, changes.turned)

    def _reconciled(self, state: NodeState, checkup: Checkup, keep: bool) -> Changes:
        """What began and ended; where it is not kept, a later look finds it once more, and tells it."""
        before = (
            {} if keep else {k: (known.finding.state, known.clear_since) for k, known in state.open.items()}
        )
        changes = reconcile(state.open, checkup, self.rules, state.window)
        if keep:
            state.open = changes.open
        for key, (named, clear_since) in before.items():
            state.open[key].finding.state, state.open[key].clear_since = named, clear_since
        return changes

    def shown(
        self, open_findings: dict[Key, OpenFinding], checkup: Checkup, window: Window, about: list[Finding]
    ) -> list[Finding]:
        """What is seen, what is still open, and what was found of the node among several (`about`).

        Of a silent node only what silence cannot end; no good news of a GPU that nobody saw lately.
        """
        findings = still_open(open_findings, checkup, self.rules)
        if any(finding.rule == STALE for finding in checkup.findings):
            seen = {id(finding) for finding in checkup.findings}
            findings = [f for f in findings if id(f) in seen or survives_silence(f, self.rules)]
        unseen: set[int | None] = {gpu.index for gpu in window.gpus.values() if gpu.unseen}
        if _is_unheard(window, checkup):
            unseen |= {None, *(gpu.index for gpu in window.gpus.values())}
        if unseen:
            findings = [f for f in findings if f.gpu not in unseen or f.severity not in ("ok", "info")]
        return sorted(findings + about, key=lambda finding: precedence(finding, self.rules))

    def tell(self, state: NodeState, finding: Finding, what: str, now: float) -> None:
        """Put a change of a node's findings into the feed."""
        latest = state.window.latest
        quiet = self.feed.quiet(state, finding.rule, now)
        if finding.rule == STALE and self.together.covers_silence(state.name, what, now):
            quiet = quiet or TOGETHER
        source = latest.source if latest else "agent"
        self.feed.tell(state.id, state.name, finding, what, now, quiet, source)
        if what != "changed":
            self.together.note(now, state.name, finding, what)

    def _say(self, state: NodeState, now: float) -> None:
        """Have the node's verdict written, as lists show it."""
        if state.told != state.rank:
            state.changed_at = self._turned_at(state, now)
            state.told = state.rank
        verdicts = {lang: self.wording.verdict(state, lang) for lang in LANGUAGES}
        self.feed.say(state, {"verdicts": verdicts, "gpus": state.load_at(now).gpus})

    @staticmethod
    def _turned_at(state: NodeState, now: float) -> float:
        """When the verdict became what it is: a silence began with the last report, not as it was noticed."""
        told, rank = state.told, state.rank
        begins = rank is not None and rank[1] == STALE and (told is None or told[1] != STALE)
        return state.window.received_at if begins else now

    def hear_decisions(self) -> None:
        """Take over mutes and maintenance that another process stored."""
        before = self.feed.maintained
        self.feed.read_decisions()
        if self.feed.maintained != before:
            for state in list(self.nodes.values()):
                self.windows.declare(state)

    # ---- what is said

    def judged(self) -> list[NodeState]:
        """The nodes of which a verdict is known."""
        return [state for state in list(self.nodes.values()) if state.rank is not None]

    def open_findings(self, states: Iterable[NodeState]) -> list[tuple[NodeState, list[Finding]]]:
        """What is open on each of these nodes."""
        found = []
        for state in states:
            with state.lock:
                found.append((state, [known.finding for known in state.open.values()]))
        return found

    def worst_first(self, severity: str | None = None, after: Place | None = None) -> list[NodeState]:
        """Every node, or those whose verdict has that severity, or what follows a place in the list."""
        states = sorted(self.nodes.values(), key=self._order)
        if after is not None:
            states = states[bisect_right(states, after, key=self._order) :]
        if severity is None:
            return states
        wanted = -SEVERITY_ORDER.index(cast(Severity, severity))
        return [state for state in states if self._order(state)[0] == wanted]

    def counts(self) -> dict[str, int]:
        """How many nodes have each severity that one has."""
        found = Counter(self._order(state)[0] for state in list(self.nodes.values()))
        return {severity: found[-i] for i, severity in enumerate(SEVERITY_ORDER) if found[-i]}

    def _order(self, state: NodeState) -> Place:
        rank, known = state.rank, state.order
        if known is None or known[0] is not rank:
            severity = self.wording.verdict(state, "en")["severity"] if rank is None else rank[0]
            known = state.order = (rank, place_of_node(severity, state.name))
        return known[1]

    def said(self, state: NodeState, language: Language, runbooks: str) -> dict[str, Any] | None:
        """The node's diagnosis; the caller holds its lock. None when nothing is kept of it."""
        try:
            self.be_current(state)
            self._hear_silence(state)
        except StoreError:
            raise
        except Exception as error:
            self._cannot_judge(state, error, keep=self.alone)
            return self._facts(state, error, language, runbooks)
        if state.checkup is None:
            return None
        try:
            return self.wording.explained(state, state.checkup, language, runbooks)
        except Exception as error:
            _log(state, error)
            return self._facts(state, error, language, runbooks)

    def _facts(self, state: NodeState, error: Exception, language: Language, runbooks: str) -> dict[str, Any]:
        known = [one.finding for one in state.open.values()]
        return facts_of(state.window, known, self.clock(), error, language, self.rules, runbooks)

    def _hear_silence(self, state: NodeState) -> None:
        """Judge a silent node by the clock as it stands: its silence is told as old as it is."""
        now = self.clock()
        told = state.rank is not None and state.rank[1] == STALE
        if not is_silent(state.window, now) or (state.reports_at(now) and not told):
            return
        if not 0.0 <= now - state.judged_by_clock < TOLD_SECONDS:
            state.judged_by_clock = now
            self.examine(state, now, keep=self.alone)
            state.window.rest()

    def moment_of(self, state: NodeState, now: float) -> float:
        """The moment to judge a node at: of one that still sends its past, the moment it has come to."""
        window = state.window
        if state.reports_at(now):
            return window.received_at
        return max(now, window.received_at)


def _log(state: NodeState, error: Exception) -> None:
    """Once with its traceback: a node reports every few seconds."""
    told = None if state.rank is FAILED else error
    log.error("%s cannot be judged (%r); its snapshots are stored", state.name, error, exc_info=told)


def _is_unheard(window: Window, checkup: Checkup) -> bool:
    """Whether its newest report is old, and yet it cannot be called silent.

    It sends what it kept, or the server does not listen for long enough.
    """
    old = window.catches_up or window.age(checkup.judged_at) > UNHEARD_SECONDS
    return old and any(entry.rule == STALE for entry in checkup.unjudged)
