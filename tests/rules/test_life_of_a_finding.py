"""How a finding opens, stays and ends, one look after the other; `test_changes.py` has what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.changes import Changes, OpenFinding, reconcile
from gpudiag.examine import STALE, default_rules
from gpudiag.model import Checkup, Finding, HostReading, Observed, Severity, Snapshot, Unjudged
from gpudiag.rules.situations import Situation

RULES = default_rules()
SLOWDOWN, XID, POOL = "thermal-hw-slowdown", "xid-hardware", "kv-pool-reserved-idle"
BEGIN = 1_000.0
LONG = RULES.by_id[SLOWDOWN].clear_seconds


def found(rule: str, gpu: int | None = 0, severity: Severity = "critical", **values: Any) -> Finding:
    uuid = None if gpu is None else f"GPU-{gpu}"
    return Finding(rule=rule, severity=severity, confidence="proven", gpu=gpu, **{"gpu_uuid": uuid, **values})


class Looks:
    """Looks at one node, and what is open after each."""

    def __init__(self) -> None:
        self.open: dict[Any, OpenFinding] = {}

    def at(self, seconds: float, *findings: Finding, boot: str = "boot-1", cannot_tell: str = "") -> Changes:
        checkup = Checkup(
            node="node-1",
            judged_at=BEGIN + seconds,
            observed=Observed(start=BEGIN, end=BEGIN + seconds),
            snapshot=Snapshot(node="node-1", taken_at=BEGIN + seconds, host=HostReading(boot_id=boot)),
            findings=list(findings),
            unjudged=[Unjudged(rule=cannot_tell, missing=["power_watts"], gpu=0)] if cannot_tell else [],
        )
        changes = reconcile(self.open, checkup, RULES)
        self.open = changes.open
        return changes

    def rules(self) -> list[str]:
        return [known.finding.rule for known in self.open.values()]


def test_it_opens_once_and_keeps_its_name_and_its_beginning() -> None:
    looks = Looks()
    first = looks.at(0, found(SLOWDOWN))
    later = looks.at(60, found(SLOWDOWN))
    [known] = looks.open.values()

    assert [BEGIN] == [finding.since for finding in first.opened]
    assert not later.any
    assert (first.opened[0].id, BEGIN, BEGIN + 60) == (
        known.finding.id, known.finding.since, known.last_seen_at,
    )  # fmt: skip


def test_the_same_on_two_gpus_is_two_findings() -> None:
    looks = Looks()
    opened = looks.at(0, found(SLOWDOWN, 0), found(SLOWDOWN, 1), found(SLOWDOWN, None)).opened

    assert len({finding.id for finding in opened}) == 3
    assert not looks.at(10, found(SLOWDOWN, 1), found(SLOWDOWN, None), found(SLOWDOWN, 0)).any


@pytest.mark.parametrize(
    ("now", "moved"),
    [({}, False), ({"severity": "warning"}, True), ({"variant": "sample"}, True)],
)
def test_it_changes_with_its_severity_or_its_wording(now: dict[str, Any], moved: bool) -> None:
    looks = Looks()
    looks.at(0, found(SLOWDOWN))
    changes = looks.at(10, found(SLOWDOWN, **now))

    assert moved == bool(changes.changed)
    assert not changes.opened


def test_it_ends_only_after_it_was_clear_for_long_enough() -> None:
    looks = Looks()
    looks.at(0, found(SLOWDOWN))
    turns = looks.at(10)
    waits = looks.at(10 + LONG - 1)
    ends = looks.at(10 + LONG)

    assert ([SLOWDOWN], []) == ([known.finding.rule for known in turns.turned], turns.resolved)
    assert ([], []) == (waits.turned, waits.resolved)
    assert ["resolved"] == [finding.state for finding in ends.resolved]
    assert [] == looks.rules()


def test_what_comes_back_meanwhile_has_to_be_clear_anew() -> None:
    looks = Looks()
    looks.at(0, found(SLOWDOWN))
    looks.at(10)
    back = looks.at(20, found(SLOWDOWN))
    looks.at(30)

    assert [SLOWDOWN] == [known.finding.rule for known in back.turned]
    assert not looks.at(29 + LONG).resolved
    assert looks.at(30 + LONG).resolved


def test_a_normal_state_ends_as_soon_as_it_is_not_seen() -> None:
    looks = Looks()
    looks.at(0, found(POOL, severity="ok"))

    assert looks.at(10).resolved


def test_silence_ends_nothing_and_what_was_clear_before_it_does_not_count() -> None:
    looks = Looks()
    looks.at(0, found(SLOWDOWN))
    looks.at(10)
    silent = looks.at(20 + 2 * LONG, found(STALE, None, "warning"))
    looks.at(30 + 2 * LONG)

    assert [] == silent.resolved
    assert SLOWDOWN in looks.rules()
    assert looks.at(30 + 3 * LONG).resolved


def test_what_cannot_be_told_ends_nothing() -> None:
    looks = Looks()
    looks.at(0, found(SLOWDOWN))
    changes = [looks.at(seconds, cannot_tell=SLOWDOWN) for seconds in (10, 10 + LONG, 10 + 10 * LONG)]

    assert not any(change.any for change in changes)


@pytest.mark.parametrize(("boot", "resolved"), [("boot-1", False), ("boot-2", True)])
def test_an_event_ends_with_a_reboot_and_not_by_being_old(boot: str, resolved: bool) -> None:
    looks = Looks()
    looks.at(0, found(XID))
    changes = looks.at(10 * LONG, boot=boot)

    assert resolved == bool(changes.resolved)


def test_what_is_about_a_gpu_that_is_no_more_is_gone_and_not_resolved() -> None:
    s = Situation().passes(minutes=1)
    looks = Looks()
    looks.at(0, found(SLOWDOWN, gpu_uuid="GPU-taken-out"))
    checkup = Checkup(
        node="node-1", judged_at=BEGIN + 10, observed=Observed(start=None, end=None),
        snapshot=Snapshot(node="node-1", taken_at=BEGIN + 10),
    )  # fmt: skip
    changes = reconcile(looks.open, checkup, RULES, s.window)

    assert (["gone"], []) == ([finding.state for finding in changes.gone], changes.resolved)
