"""Rules about several nodes at once, asked by the clock.

A finding that blames one node is shown with that node; one about many stands under the name `fleet`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gpudiag.changes import Key, OpenFinding, reconcile
from gpudiag.examine import finding_of
from gpudiag.fleet import Fleet
from gpudiag.model import Checkup, Finding, Observed, Snapshot, Unjudged
from gpudiag.window import W7D, NotMeasured

if TYPE_CHECKING:
    from api.judge import Judge

log = logging.getLogger("gpudiag.judge")

FLEET = "fleet"
FLEET_ID = 0
EVERY_SECONDS = 30.0
MOST_CHANGES = 20_000


class Together:
    """What is open about the fleet, and how it is judged."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.open: dict[Key, OpenFinding] = judge.store.episodes.open_of(FLEET_ID)
        self.judged_at = 0.0
        entries = judge.store.episodes.feed(0, MOST_CHANGES, since=judge.clock() - W7D)
        self.changes = [(e.at, e.node, e.finding, e.what) for e in entries if e.what != "changed"]

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

    def note(self, at: float, node: str, finding: Finding, what: str) -> None:
        """Remember a change of a node's findings."""
        self.changes.append((at, node, finding, what))
        if len(self.changes) > MOST_CHANGES:
            del self.changes[: MOST_CHANGES // 4]

    def judge(self, now: float) -> set[str]:
        """Ask every rule about the fleet; returns the nodes about which something opened or ended."""
        self.judged_at = now
        rules = self._judge.rules
        states = [s for s in list(self._judge.nodes.values()) if s.window.latest is not None]
        if not rules.of_fleet or not states:
            return set()
        fleet = Fleet(
            windows={state.name: state.window for state in states},
            now=now,
            findings={state.name: [known.finding for known in state.open.values()] for state in states},
            changes=[change for change in self.changes if change[0] >= now - W7D],
            judged_at=now,
        )
        checkup = Checkup(
            node=FLEET,
            judged_at=now,
            observed=Observed(start=None, end=now),
            snapshot=Snapshot(node=FLEET, taken_at=now, source=states[0].window.latest.source),  # type: ignore[union-attr]
        )
        for rule in rules.of_fleet:
            try:
                checkup.findings += [finding_of(rule, fires) for fires in rule.judged(fleet)]
            except NotMeasured as absent:
                checkup.unjudged.append(Unjudged(rule=rule.id, missing=absent.missing, reason=absent.reason))
            except Exception:
                log.exception("the rule %s cannot judge the fleet", rule.id)
                checkup.unjudged.append(Unjudged(rule=rule.id, missing=[], reason="unknown_error"))
        changes = reconcile(self.open, checkup, rules)
        self.open = changes.open
        self._judge.remember_fleet(changes, now, checkup.snapshot.source)
        moved = (*changes.opened, *changes.changed, *changes.resolved, *changes.gone)
        return {host for finding in moved if (host := self.host_of(finding)) is not None}
