"""What opened, stayed, changed and ended between one checkup and the next.

Silence does not heal: a finding is resolved only after its rule has judged the subject clear for long
enough. Nor does it keep good news: a normal state of which nobody can tell any more ends. Events (latched
rules) stay until a reboot, or a reset that the driver confirms. A subject that is proven gone closes its
findings as gone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from gpudiag.examine import STALE, Ruleset, covers
from gpudiag.model import Checkup, Finding, FindingState, Struct
from gpudiag.resets import resets
from gpudiag.rule import STATE, Rule
from gpudiag.window import Window

UNTOLD_SECONDS = 120.0  # so long a normal state outlives that it could be told
Key = tuple[str, str, str]  # rule, GPU or "", key


class OpenFinding(Struct):
    """A finding that lasts, with what is needed to end it. `opened_boot` is the boot in which it opened."""

    finding: Finding
    opened_at: float
    last_seen_at: float
    clear_since: float | None = None
    opened_boot: str | None = None


@dataclass(slots=True)
class Changes:
    """The outcome of `reconcile`; `open` is what is open now, by key."""

    open: dict[Key, OpenFinding]
    opened: list[Finding] = field(default_factory=list)
    changed: list[Finding] = field(default_factory=list)  # severity or wording moved
    resolved: list[Finding] = field(default_factory=list)
    gone: list[Finding] = field(default_factory=list)
    turned: list[OpenFinding] = field(default_factory=list)  # clear from now on, or not any more

    @property
    def any(self) -> bool:
        return bool(self.opened or self.changed or self.resolved or self.gone)


def key_of(finding: Finding) -> Key:
    """What makes two findings the same episode."""
    subject = "" if finding.gpu is None else finding.gpu_uuid or str(finding.gpu)
    return finding.rule, subject, finding.key


def finding_id(node: str, finding: Finding, opened_at: float) -> str:
    """A short id that never changes while the finding lasts."""
    text = "\0".join((node, *key_of(finding), f"{opened_at:.3f}"))
    return "f-" + hashlib.sha256(text.encode()).hexdigest()[:12]


def reconcile(
    open_findings: dict[Key, OpenFinding], checkup: Checkup, rules: Ruleset, window: Window | None = None
) -> Changes:
    """Bring what was open together with what is seen now; the findings get their id, state and since."""
    now = checkup.judged_at
    boot = checkup.snapshot.host.boot_id if checkup.snapshot.host else None
    changes = Changes(open={})
    for finding in checkup.findings:
        key = key_of(finding)
        known = open_findings.get(key)
        changes.open[key] = (
            _stays(known, finding, now, changes)
            if known
            else _opens(checkup.node, finding, now, boot, changes)
        )
    unjudged = {(entry.rule, entry.gpu) for entry in checkup.unjudged}
    silent = any(finding.rule == STALE for finding in checkup.findings)
    for key, known in open_findings.items():
        if key in changes.open:
            continue
        clear_since = known.clear_since
        if silent:  # nothing was looked at, so nothing was judged clear
            known.clear_since = None
            _stays_open(key, known, clear_since, changes)
            continue
        explained = any(
            known.finding.rule in other.explains and covers(other, known.finding)
            for other in checkup.findings
        )
        verdict = _ending(known, rules, unjudged, explained, now, boot, window)
        if verdict is None:
            _stays_open(key, known, clear_since, changes)
        else:
            known.finding.state = verdict
            (changes.gone if verdict == "gone" else changes.resolved).append(known.finding)
    return changes


def _opens(node: str, finding: Finding, now: float, boot: str | None, changes: Changes) -> OpenFinding:
    since = finding.since if finding.since is not None else now
    finding.since, finding.state = since, "open"
    finding.id = finding_id(node, finding, since)
    changes.opened.append(finding)
    return OpenFinding(finding=finding, opened_at=since, last_seen_at=now, opened_boot=boot)


def _stays_open(key: Key, known: OpenFinding, clear_since: float | None, changes: Changes) -> None:
    changes.open[key] = known
    if known.clear_since != clear_since:
        changes.turned.append(known)


def _stays(known: OpenFinding, finding: Finding, now: float, changes: Changes) -> OpenFinding:
    before = known.finding
    finding.id, finding.since, finding.state = before.id, before.since, before.state
    if (finding.severity, finding.variant) != (before.severity, before.variant):
        changes.changed.append(finding)
    if known.clear_since is not None:
        changes.turned.append(known)
    known.finding, known.last_seen_at, known.clear_since = finding, now, None
    return known


def _ending(
    known: OpenFinding,
    rules: Ruleset,
    unjudged: set[tuple[str, int | None]],
    explained: bool,
    now: float,
    boot: str | None,
    window: Window | None,
) -> FindingState | None:
    """`resolved`, `gone`, or None while it stays open."""
    finding = known.finding
    if window is not None and subject_is_gone(finding, window):
        return "gone"
    rule = rules.by_id.get(finding.rule)
    if rule is None:
        return "gone"  # the rule itself is no more
    not_told = (finding.rule, finding.gpu) in unjudged or (finding.rule, None) in unjudged
    if not_told or (window is not None and _unseen(finding, window)):
        known.clear_since = None
        outlived = _is_state(finding, rule) and now - known.last_seen_at > UNTOLD_SECONDS
        return "resolved" if outlived else None
    if explained and rule.clear_seconds > 0:
        return None  # still there, only not named on its own
    if rule.latched:
        rebooted = boot is not None and known.opened_boot is not None and boot != known.opened_boot
        return "resolved" if rebooted or (window is not None and _was_reset(known, window)) else None
    known.clear_since = now if known.clear_since is None else known.clear_since
    return "resolved" if now - known.clear_since >= rule.clear_seconds else None


def _is_state(finding: Finding, rule: Rule) -> bool:
    """A normal state or a hint, which follows what is seen: unseen, nothing is known to be well."""
    return rule.rank >= STATE and finding.severity in ("ok", "info")


def _was_reset(known: OpenFinding, window: Window) -> bool:
    """Whether the finding's GPU was reset since it began, as the driver itself told."""
    gpu = known.finding.gpu
    reset = None if gpu is None else resets(window).get(gpu)
    return reset is not None and known.opened_at <= reset


def _unseen(finding: Finding, window: Window) -> bool:
    """Whether the finding's GPU was not read just now: the driver does not answer, nobody judged it clear."""
    if finding.gpu is None:
        return False
    gpus = [gpu for gpu in window.gpus.values() if gpu.index == finding.gpu]
    return bool(gpus) and all(gpu.unread for gpu in gpus)


def subject_is_gone(finding: Finding, window: Window) -> bool:
    """Whether the GPU or the process that a finding is about is proven to be no more."""
    if finding.key.startswith("pid:"):
        pid = finding.key.split(":")[1]
        alive = any(str(process) == pid for process, _ in window.processes)
        blind = window.latest is None or (window.latest.nvml is not None and window.latest.nvml.error)
        return not alive and not blind and not window.gap("host", "processes")
    if finding.gpu_uuid is not None:
        return finding.gpu_uuid not in window.gpus
    return False


def still_open(changes_open: dict[Key, OpenFinding], checkup: Checkup, rules: Ruleset) -> list[Finding]:
    """The checkup's findings, and those that are open although not seen right now.

    What a finding of the same GPU, or of the node, accounts for is not named beside it.
    """
    seen = {key_of(finding) for finding in checkup.findings}
    accounts = [(finding, _accounts(finding, rules)) for finding in checkup.findings]
    return checkup.findings + [
        known.finding
        for key, known in changes_open.items()
        if key not in seen
        and not any(
            known.finding.rule in explained and covers(finding, known.finding)
            for finding, explained in accounts
        )
    ]


def _accounts(finding: Finding, rules: Ruleset) -> set[str]:
    """The rules that it accounts for, whether or not they were found beside it; not its umbrella."""
    rule = rules.by_id.get(finding.rule)
    named = {*finding.explains, *(rule.explains if rule else ())}
    return named - {rule.also} if rule else named
