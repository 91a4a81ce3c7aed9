"""Rules about several nodes at once, asked by the clock.

A finding that blames one node is shown with that node; one about many stands under the name `fleet`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping

from api.judging.feed import Feed, in_order
from api.judging.nodes import NodeState
from api.store import Store
from gpudiag.changes import Key, OpenFinding, reconcile
from gpudiag.examine import STALE, Ruleset, finding_of
from gpudiag.fleet import Fleet
from gpudiag.model import TROUBLE, Checkup, Finding, Observed, Snapshot, Source, Unjudged
from gpudiag.rule import Rule
from gpudiag.window import W7D, NotMeasured

log = logging.getLogger("gpudiag.judge")

FLEET = "fleet"
FLEET_ID = 0
TOGETHER = "together"  # why one node's silence is told to nobody: that of many is
GAP = "server-ingest-gap"
EVERY_SECONDS = 30.0
AGAIN_SECONDS = 5.0  # a node that falls silent has the others looked at, but no more often
GRACE_SECONDS = 60.0  # agents come back so long after a server was started or reached again
MOST_CHANGES = 20_000


class Together:
    """What is open about the fleet, and how it is judged."""

    def __init__(
        self,
        store: Store,
        nodes: Mapping[str, NodeState],
        feed: Feed,
        rules: Ruleset,
        clock: Callable[[], float],
    ) -> None:
        self._store, self._nodes, self._feed, self._rules = store, nodes, feed, rules
        self.open: dict[Key, OpenFinding] = store.episodes.open_of(FLEET_ID)
        self.judged_at = 0.0
        self._forgiven_until = clock() + GRACE_SECONDS
        self._moved: set[str] = set()  # nodes that something opened or ended about, see take_moved
        self._turn = threading.RLock()
        self._clock, self._follows = clock, not store.embedded
        self._read_to = max(0, store.episodes.last_cursor() - MOST_CHANGES)
        self.changes: list[tuple[float, str, Finding, str]] = []  # of warnings and worse
        self._covered: set[str] = set()
        self._read_changes()

    @property
    def findings(self) -> list[Finding]:
        """Those that blame no single node."""
        return [known.finding for known in self.open.values() if self.host_of(known.finding) is None]

    @staticmethod
    def host_of(finding: Finding) -> str | None:
        host = finding.words.get("host")
        return str(host) if host is not None else None

    def about(self, node: str) -> list[Finding]:
        """Those that blame `node`."""
        return [known.finding for known in self.open.values() if self.host_of(known.finding) == node]

    def known(self, finding_id: str) -> OpenFinding | None:
        """What is open under an id."""
        return next((known for known in self.open.values() if known.finding.id == finding_id), None)

    # ---- what others found

    def follow(self) -> None:
        """Take over what is open about several nodes: another process judges them."""
        before = self.open
        self.open = self._store.episodes.open_of(FLEET_ID)
        with self._turn:
            for known in (before, self.open):
                other = self.open if known is before else before
                self._moved |= {
                    host
                    for key, one in known.items()
                    if key not in other and (host := self.host_of(one.finding)) is not None
                }
        self._read_changes()
        self._follows = True

    def _read_changes(self) -> None:
        """What changed of the nodes, whoever found it, and whose silence was told to nobody."""
        entries = self._store.episodes.feed(self._read_to, MOST_CHANGES, since=self._clock() - W7D)
        for entry in entries:
            self._read_to = entry.id
            if entry.what != "changed":
                self._remember(entry.at, entry.node, entry.finding, entry.what)
            if entry.finding.rule == STALE:
                covered = entry.quiet == TOGETHER and entry.what in ("opened", "changed")
                (self._covered.add if covered else self._covered.discard)(entry.node)

    # ---- silence of one and of many

    def covers_silence(self, node: str, what: str, now: float) -> bool:
        """Whether a node's silence is a part of what is told of many, or may be the server's own doing."""
        if what == "opened":
            if not self._gap and not 0.0 <= now - self.judged_at < AGAIN_SECONDS:
                self.judge(now)
            if self._gap or self._forgives(now):
                self._covered.add(node)
        covered = node in self._covered
        if what in ("resolved", "gone"):
            self._covered.discard(node)
        return covered

    def silent_alone(self, now: float) -> set[str]:
        """Nodes that are silent still, after the others came back: from now on it is told of them."""
        if self._gap or self._forgives(now):
            return set()
        alone, self._covered = self._covered, set()
        return alone

    def _forgives(self, now: float) -> bool:
        """Whether agents have not had the time to come back; no longer where the clock was set back."""
        return 0.0 < self._forgiven_until - now <= GRACE_SECONDS

    @property
    def _gap(self) -> bool:
        return any(known.finding.rule == GAP for known in self.open.values())

    # ---- judging

    def tell(self, finding: Finding, what: str, now: float, source: str) -> None:
        """Put a change of what is open about several nodes, or about one among them, into the feed."""
        host, feed = self.host_of(finding), self._feed
        state = self._nodes.get(host) if host is not None else None
        node_id, name = (state.id, state.name) if state else (FLEET_ID, FLEET)
        quiet = feed.quiet(state, finding.rule, now) if state else None
        feed.tell(node_id, name, finding, what, now, quiet, source)

    def note(self, at: float, node: str, finding: Finding, what: str) -> None:
        """Remember a change of a node's findings; on a shared store all of them are read from the feed."""
        if self._store.embedded:
            self._remember(at, node, finding, what)

    def _remember(self, at: float, node: str, finding: Finding, what: str) -> None:
        if finding.severity not in TROUBLE:
            return
        self.changes.append((at, node, finding, what))
        if len(self.changes) > MOST_CHANGES:
            del self.changes[: MOST_CHANGES // 4]

    def judge(self, now: float) -> None:
        """Ask every rule about the fleet."""
        for _ in self.judging(now):
            pass

    def judging(self, now: float) -> Iterator[None]:
        """The same with pauses in which others may have their turn: a large fleet takes long."""
        self.judged_at = now
        if not self._store.embedded:
            self._take_the_lead()
        fleet = self._seen(now)
        yield
        if fleet is None:
            return
        checkup = Checkup(
            node=FLEET,
            judged_at=now,
            observed=Observed(start=None, end=now),
            snapshot=Snapshot(node=FLEET, taken_at=now, source=_source(fleet)),
        )
        for rule in self._rules.of_fleet:
            _ask(rule, fleet, checkup)
            yield
        with self._turn:
            if self.judged_at <= now:  # else somebody could not wait for us meanwhile
                self._conclude(checkup, now)

    def _take_the_lead(self) -> None:
        """Go on where the process left off that judged before; know what others found meanwhile."""
        if self._follows:
            self.follow()
            self._follows = False
        else:
            self._read_changes()

    def take_moved(self) -> set[str]:
        """The nodes about which something opened or ended since this was asked last."""
        with self._turn:
            moved, self._moved = self._moved, set()
        return moved

    def _seen(self, now: float) -> Fleet | None:
        """The fleet as it is now; None where there is nothing to judge."""
        states = [s for s in list(self._nodes.values()) if s.window.latest is not None]
        if not self._rules.of_fleet or not states:
            return None
        return Fleet(
            windows={state.name: state.window for state in states},
            now=now,
            findings={state.name: _beyond_normal(state) for state in states},
            changes=[change for change in self.changes if change[0] >= now - W7D],
            judged_at=now,
            catch_up=frozenset(state.name for state in states if state.reports_at(now)),
        )

    def _conclude(self, checkup: Checkup, now: float) -> None:
        """Take over what was found."""
        if not self._store.embedded:
            self._see_acknowledged()
        changes = reconcile(self.open, checkup, self._rules)
        self.open = changes.open
        if self._gap:
            self._forgiven_until = now + GRACE_SECONDS
        with self._feed.lock:
            for what, finding in in_order(changes):
                self.tell(finding, what, now, checkup.snapshot.source)
            self._feed.keep(FLEET_ID, changes, now)
        moved = (*changes.opened, *changes.changed, *changes.resolved, *changes.gone)
        self._moved |= {host for finding in moved if (host := self.host_of(finding)) is not None}

    def _see_acknowledged(self) -> None:
        """Take over what was acknowledged in another process."""
        for key, stored in self._store.episodes.open_of(FLEET_ID).items():
            if key in self.open:
                self.open[key].finding.state = stored.finding.state


def _beyond_normal(state: NodeState) -> list[Finding]:
    """Its open findings without normal states, which are most of a fleet's."""
    return [known.finding for known in state.open.values() if known.finding.severity != "ok"]


def _ask(rule: Rule, fleet: Fleet, checkup: Checkup) -> None:
    try:
        checkup.findings += [finding_of(rule, fires) for fires in rule.judged(fleet)]
    except NotMeasured as absent:
        checkup.unjudged.append(Unjudged(rule=rule.id, missing=absent.missing, reason=absent.reason))
    except Exception:
        log.exception("the rule %s cannot judge the fleet", rule.id)
        checkup.unjudged.append(Unjudged(rule=rule.id, missing=[], reason="unknown_error"))


def _source(fleet: Fleet) -> Source:
    """Where its nodes' snapshots come from."""
    return next((w.latest.source for w in fleet.windows.values() if w.latest is not None), "agent")
