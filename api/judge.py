"""Every node, judged as its snapshots arrive.

A node's window is built from the store when it is first needed, and then kept up to date in place (see
api/windows.py). What changes goes into the feed, which the writer writes. Knows no HTTP; the clock is given.
"""

from __future__ import annotations

import contextlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from api.feed import Feed, in_order
from api.nodes import SILENT_INTERVALS, NodeState, Place, place_of_node
from api.signs import CALM_SECONDS, NEVER_CALM, signs_of
from api.store import Store, StoreError
from api.store.snapshots import StoredNode
from api.together import TOGETHER, Together
from api.windows import Windows
from gpudiag.changes import Changes, Key, OpenFinding, key_of, reconcile, still_open
from gpudiag.examine import STALE, Ruleset, examine, judge, precedence, survives_silence
from gpudiag.explain import explain, verdict_of
from gpudiag.ledger import ledger_of
from gpudiag.model import SEVERITY_ORDER, Checkup, Finding, Severity, Snapshot
from gpudiag.settings import Settings
from gpudiag.verdict import verdict_of_node
from gpudiag.window import Window
from gpudiag.words import LANGUAGES, Language

log = logging.getLogger("gpudiag.judge")

TOLD_SECONDS = 1.0  # what is told of a node's silence is no older
UNHEARD_SECONDS = 45.0  # as long as a node may be quiet: what was well before is not known to be so
WAITS_SECONDS = 15.0  # no newer snapshot came that would have had a node judged


class Judge:
    """The nodes of this process, and the one way in which they are judged."""

    def __init__(self, store: Store, settings: Settings, rules: Ruleset, clock: Callable[[], float]) -> None:
        self.store, self.rules, self.clock = store, rules, clock
        self.nodes: dict[str, NodeState] = {row.name: NodeState(row) for row in store.snapshots.nodes()}
        self.feed = Feed(store, clock)
        self.windows = Windows(store, settings, self.feed, clock)
        self.together = Together(store, self.nodes, self.feed, rules, clock)
        self._turn = 0

    # ---- nodes

    def state(self, name: str) -> NodeState | None:
        """A node with its window, built from the store when this is the first time; None when unknown."""
        if not self.store.embedded:
            return self._shared_state(name)
        state = self.nodes.get(name)
        if state is not None and not state.loaded:
            with state.lock:
                if not state.loaded:
                    self._load(state)
        return state

    # ---- a store that other processes write, too

    def _shared_state(self, name: str) -> NodeState | None:
        """A node as the store has it now: what others wrote is caught up with, by the snapshots' numbers."""
        row = self.store.snapshots.node(name)
        if row is None:
            self.forget(name)
            return None
        state = self.nodes.get(name)
        if state is None or state.id != row.id:
            state = self.nodes[name] = NodeState(row)
        with state.lock:
            if not state.loaded or self.windows.lacks_late_ones(state, self.clock()):
                self._load(state)
                state.version = row.version
            else:
                self._catch_up(state, row)
        return state

    def _catch_up(self, state: NodeState, row: StoredNode) -> None:
        rows = self.store.snapshots.after(state.id, state.last_id)
        if not rows and row.version == state.version:
            return
        before, state.open = state.open, self.store.episodes.open_of(state.id)
        for key, known in state.open.items():  # since when it is clear is not stored: each process sees it
            if key in before and before[key].opened_at == known.opened_at:
                known.clear_since = before[key].clear_since
        state.version, state.changed_at = row.version, row.changed_at
        with self._for_itself(state):
            for stored in rows:
                if self.windows.fold_stored(state, stored):
                    late = stored.received_at - stored.taken_at > 2.0 * state.window.interval
                    self._examine(state, stored.taken_at if late else stored.received_at, keep=False)
            if not rows:
                self._examine(state, max(self.clock(), state.window.received_at), keep=False)

    def see_others(self) -> None:
        """Take over which nodes there are and what others judged, as lists show it."""
        rows = self.store.snapshots.nodes()
        for row in rows:
            state = self.nodes.get(row.name)
            if state is None or state.id != row.id:
                self.nodes[row.name] = NodeState(row)
                continue
            state.window.received_at = max(state.window.received_at, row.last_seen)
            if row.version != state.version:
                with state.lock:
                    state.stored, state.changed_at = row.verdict, row.changed_at
                    state.checkup, state.rank, state.order, state.loaded = None, None, None, False
                    state.version, state.last_id = row.version, 0
                    state.headlines = {}
                    state.said.clear()
        for name in self.nodes.keys() - {row.name for row in rows}:
            self.forget(name)

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

    def _load(self, state: NodeState) -> None:
        """What is open, and the window."""
        state.open = self.store.episodes.open_of(state.id)
        self._build(state)

    def _build(self, state: NodeState) -> None:
        """The window, and the node judged by it."""
        with self._for_itself(state):
            if self.windows.build(state):
                self._examine(state, self._now_of(state, self.clock()), keep=self.store.embedded)
        state.loaded = True

    @contextlib.contextmanager
    def _for_itself(self, state: NodeState) -> Iterator[None]:
        """Whatever a node's snapshots do to our rules, only it is unknown: others report in the same turn."""
        try:
            yield
        except StoreError:
            raise
        except Exception:
            log.exception("%s cannot be judged; its snapshots are stored", state.name)
            state.checkup, state.stored, state.rank, state.order = None, None, None, None
            state.headlines = {}
            state.said.clear()

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
            with self._for_itself(state):
                if self.windows.fold(state, snapshot, received_at):
                    self._judge_in_time(state, received_at)
            state.window.rest()

    def _judge_in_time(self, state: NodeState, received_at: float) -> None:
        """Judge now when something changed or the last time is long ago; else it waits (see api/signs.py)."""
        window = state.window
        if self.store.embedded:
            signs = signs_of(window)
            calm = signs != NEVER_CALM and signs == state.signs
            state.signs = signs
            if calm and 0.0 <= window.time - state.judged_time < CALM_SECONDS:
                state.waits = True
                if state.checkup is not None and window.latest is not None:
                    state.checkup.snapshot = window.latest  # else two snapshots a node stay in memory
                return
        self._examine(state, self._now_for(window, received_at), keep=True)

    @staticmethod
    def _now_for(window: Window, received_at: float) -> float:
        """The judge's time: that of the data when it came late."""
        return window.time if received_at - window.time > 2.0 * window.interval else received_at

    def be_current(self, state: NodeState) -> None:
        """Judge a node whose newest snapshot still waits for it, or failed; the caller holds its lock."""
        if state.waits or state.checkup is None:
            self._examine(state, self._now_for(state.window, state.window.received_at), keep=True)
            state.window.rest()

    # ---- judging

    def _examine(self, state: NodeState, now: float, keep: bool) -> None:
        window = state.window
        if window.latest is None:
            return
        state.waits, state.judged_time = False, window.time
        checkup = judge(window, self.rules, now)
        changes = self._reconciled(state, checkup, keep)
        checkup.findings = self._shown(changes.open, checkup, window)
        state.checkup = checkup
        state.headlines = {}  # another one: who puts the last checkup in words just now fills the old one
        state.said.clear()
        verdict = verdict_of_node(checkup, self.rules)
        moved = state.rank != (verdict.severity, verdict.rule)
        if moved:
            state.rank = (verdict.severity, verdict.rule)
        if not keep:
            return
        if changes.any or moved:
            if moved:
                state.changed_at = now
            verdicts = {lang: self.verdict(state, lang) for lang in LANGUAGES}
            with self.feed.lock:  # written together, or not at all
                for what, finding in in_order(changes):
                    self.tell(state, finding, what, now)
                self.feed.keep(state.id, changes, now)
                self.feed.say(state, {"verdicts": verdicts, "gpus": len(window.latest.gpus)})

    def _reconciled(self, state: NodeState, checkup: Checkup, keep: bool) -> Changes:
        """What began and ended; where it is not kept, a later look finds it once more, and tells it."""
        states = {} if keep else {key: known.finding.state for key, known in state.open.items()}
        changes = reconcile(state.open, checkup, self.rules, state.window)
        if keep:
            state.open = changes.open
        for key, before in states.items():
            state.open[key].finding.state = before
        return changes

    def _shown(
        self, open_findings: dict[Key, OpenFinding], checkup: Checkup, window: Window
    ) -> list[Finding]:
        """What is seen and what is still open.

        Of a silent node only what silence cannot end; no good news of a GPU that nobody saw lately.
        """
        findings = still_open(open_findings, checkup)
        about = self.together.about(checkup.node)
        if any(finding.rule == STALE for finding in checkup.findings):
            seen = {id(finding) for finding in checkup.findings}
            findings = [f for f in findings if id(f) in seen or survives_silence(f, self.rules)]
        unseen: set[int | None] = {gpu.index for gpu in window.gpus.values() if gpu.unread}
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

    def worst_first(self, severity: str | None = None, after: Place | None = None) -> list[NodeState]:
        """Every node, or those whose verdict has that severity, or what follows a place in the list."""
        states = sorted(self.nodes.values(), key=self._order)
        if after is not None:
            states = states[bisect_right(states, after, key=self._order) :]
        if severity is None:
            return states
        wanted = -SEVERITY_ORDER.index(cast(Severity, severity))
        return [state for state in states if self._order(state)[0] == wanted]

    def _order(self, state: NodeState) -> Place:
        rank, known = state.rank, state.order
        if known is None or known[0] is not rank:
            severity = self.verdict(state, "en")["severity"] if rank is None else rank[0]
            known = state.order = (rank, place_of_node(severity, state.name))
        return known[1]

    def verdict(self, state: NodeState, language: Language) -> dict[str, Any]:
        """The node's verdict in words, as lists show it."""
        headlines = state.headlines
        known = headlines.get(language)
        if known is None:
            if state.checkup is None:
                stored = (state.stored or {}).get("verdicts", {})
                return stored.get(language) or {"severity": "unknown", "rule": "not-enough-evidence",
                                                "headline": "", "confidence": None, "gpu": None}  # fmt: skip
            known = verdict_of(state.checkup, language, self.rules)
            headlines[language] = known
        return known

    def said(self, state: NodeState, language: Language, runbooks: str) -> dict[str, Any] | None:
        """The node's diagnosis; the caller holds its lock. None when nothing is kept of it."""
        self.be_current(state)
        self._hear_silence(state)
        checkup = state.checkup
        if checkup is None:
            return None
        said = state.said.get(language)
        if said is None:
            for gpu in state.window.gpus_in_order():
                ledger = ledger_of(gpu)
                if ledger is not None:
                    checkup.ledgers[gpu.index] = ledger
            found = explain(checkup, language, self.rules, runbooks=runbooks)
            said = state.said[language] = msgspec.to_builtins(found)
        return said

    def _hear_silence(self, state: NodeState) -> None:
        """Judge a silent node by the clock as it stands: its silence is told as old as it is."""
        now = self.clock()
        if not _is_silent(state.window, now) or state.reports_at(now):
            return
        if not 0.0 <= now - state.judged_by_clock < TOLD_SECONDS:
            state.judged_by_clock = now
            self._examine(state, now, keep=self.store.embedded)
            state.window.rest()

    def tick(self, now: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Judge the nodes that are silent, and what waits: nobody else would notice.

        When it is `enough`, the rest has its turn the next time.
        """
        states = list(self.nodes.values())
        for number in range(len(states)):
            if enough():
                self._turn += number
                return
            state = states[(self._turn + number) % len(states)]
            if state.loaded or not self.store.embedded:
                try:
                    self._judge_by_clock(state, now)
                except StoreError:
                    raise
                except Exception:  # one node must not keep the clock from all the others
                    log.exception("%s cannot be judged", state.name)

    def _judge_by_clock(self, state: NodeState, now: float) -> None:
        if self.store.embedded and self.windows.lacks_late_ones(state, now):
            with state.lock:
                self._build(state)
        window = state.window
        window.hear_no_later_than(now)
        if state.waits and now - max(window.received_at, state.arrived_at) >= WAITS_SECONDS:
            with state.lock:
                self.be_current(state)
        if not _is_silent(window, now):
            return
        if 0.0 <= now - state.judged_by_clock < min(60.0, max(5.0, window.age(now) / 10.0)):
            return  # the longer the silence, the less changes
        state.judged_by_clock = now
        if not self.store.embedded and self.state(state.name) is None:
            return
        with state.lock:
            self._examine(state, now, keep=True)
            window.rest()

    def judge_together(self, now: float) -> None:
        """Ask the rules about several nodes; a node that they blame is judged anew."""
        for _ in self.judging_together(now):
            pass

    def judging_together(self, now: float) -> Iterator[None]:
        """The same with pauses in which reports may have their turn."""
        if not self.store.embedded:
            for name in list(self.nodes):
                self.state(name)
        yield from self.together.judging(now)
        for name in self.together.take_moved():
            state = self.nodes.get(name)
            if state is not None and state.loaded:
                with state.lock:
                    self._examine(state, self._now_of(state, now), keep=True)
        for name in self.together.silent_alone(now):
            state = self.nodes.get(name)
            if state is not None:
                self._tell_silence(state, now)

    def _tell_silence(self, state: NodeState, now: float) -> None:
        """Say now what was kept back while many were silent."""
        with state.lock:
            for known in state.open.values():
                if known.finding.rule == STALE:
                    self.tell(state, known.finding, "changed", now)

    def _now_of(self, state: NodeState, now: float) -> float:
        """The moment to judge a node at: of one that still sends its past, the moment it has come to."""
        window = state.window
        if state.reports_at(now):
            return window.received_at
        return max(now, window.received_at)

    def load_some(self, seconds: float, timer: Callable[[], float]) -> bool:
        """Build windows of nodes not asked for yet, for so long; False when all are there."""
        until = timer() + seconds
        for state in list(self.nodes.values()):
            if not state.loaded:
                if timer() >= until:
                    return True
                self.state(state.name)
        return False

    # ---- the past

    def past(self, state: NodeState, at: float, span: float | None = None) -> tuple[Window, Checkup] | None:
        """The node as it was at `at`, judged with today's rules; None when nothing is stored of it.

        With a `span` by nothing but the snapshots of the last `span` seconds before.
        """
        window = self.windows.of_the_past(state, at, span)
        if window is None:
            return None
        checkup = examine(window, self.rules, at)
        known = {key_of(f): f for f in (e.finding for e in self.store.episodes.open_at(state.id, at))}
        for finding in checkup.findings:
            before = known.pop(key_of(finding), None)
            if before is not None:
                finding.id, finding.since, finding.state = before.id, before.since, before.state
        for finding in known.values():
            finding.state = "open" if finding.state in ("resolved", "gone") else finding.state
            checkup.findings.append(finding)
        checkup.findings.sort(key=lambda finding: precedence(finding, self.rules))
        return window, checkup


def _is_unheard(window: Window, checkup: Checkup) -> bool:
    """Whether its last report is old, and the server does not listen for long enough to call it silent."""
    old = window.age(checkup.judged_at) > UNHEARD_SECONDS
    return old and any(entry.rule == STALE for entry in checkup.unjudged)


def _is_silent(window: Window, now: float) -> bool:
    """Whether reports are missing that were due."""
    return window.age(now) > SILENT_INTERVALS * window.interval
