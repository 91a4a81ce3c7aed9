"""What Prometheus reads of us: findings as time series, the fleet, and how this server does.

Names keep to Prometheus' habits: base units, `_total` for counters; no label grows with processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from api.together import FLEET
from gpudiag import __version__
from gpudiag.model import SEVERITY_ORDER, Finding
from gpudiag.words.foreign import plain

if TYPE_CHECKING:
    from api.nodes import NodeState
    from api.parts import Parts

Labels = dict[str, str | None]


def exposition(here: Parts) -> str:
    """Everything, as Prometheus' text format."""
    return "".join(_families(here))


def _families(here: Parts) -> Iterator[str]:
    now = here.answers.now()
    states = [state for state in list(here.judge.nodes.values()) if state.checkup is not None]
    yield _family("gpudiag_build_info", "gauge", "The running version.", [({"version": __version__}, 1)])
    counts = dict.fromkeys(SEVERITY_ORDER, 0)
    for state in states:
        counts[here.judge.verdict(state, "en")["severity"]] += 1
    yield _family(
        "gpudiag_nodes", "gauge", "Nodes by the severity of their verdict.",
        [({"severity": severity}, count) for severity, count in counts.items()],
    )  # fmt: skip
    found: list[tuple[Labels, float]] = []
    since: list[tuple[Labels, float]] = []
    for node, finding, quiet in _findings(here, states, now):
        labels: Labels = {
            "node": node,
            "gpu": None if finding.gpu is None else str(finding.gpu),
            "uuid": finding.gpu_uuid,
            "rule": finding.rule,
            "severity": finding.severity,
        }
        told: Labels = {"confidence": finding.confidence, "state": finding.state, "quiet": quiet}
        found.append(({**labels, **told}, 1))
        if finding.since is not None:
            since.append((labels, round(finding.since, 3)))
    ages: list[tuple[Labels, float]] = [
        ({"node": state.name}, round(state.window.age(now), 1)) for state in states
    ]
    yield _family("gpudiag_finding", "gauge", "A finding that is open now.", found)
    yield _family("gpudiag_finding_since_timestamp_seconds", "gauge", "When it opened.", since)
    yield _family("gpudiag_snapshot_age_seconds", "gauge", "Age of a node's newest snapshot.", ages)
    writer = here.writer
    for name, kind, text, value in (
        ("gpudiag_snapshots_stored_total", "counter", "Snapshots stored.", writer.stored),
        ("gpudiag_snapshots_duplicate_total", "counter", "Snapshots that came again.", writer.duplicates),
        (
            "gpudiag_reports_refused_total",
            "counter",
            "Reports refused because the queue was full.",
            writer.refused,
        ),
        ("gpudiag_store_commits_total", "counter", "Transactions of the writer.", writer.commits),
        ("gpudiag_reports_waiting", "gauge", "Reports in the queue.", writer.waiting),
        (
            "gpudiag_store_trouble",
            "gauge",
            "1 while the store cannot be written.",
            int(writer.trouble is not None),
        ),
        (
            "gpudiag_store_log_kept_bytes",
            "gauge",
            "Bytes in SQLite's log that another program's transaction keeps from being moved into the file.",
            here.store.kept_log.bytes,
        ),
        ("gpudiag_start_time_seconds", "gauge", "When this server started.", here.started_at),
    ):
        yield _family(name, kind, text, [({}, value)])


def _findings(
    here: Parts, states: Iterable[NodeState], now: float
) -> Iterator[tuple[str, Finding, str | None]]:
    """(node, finding, why nobody is to be told): one however many processes or events a rule names."""
    together = here.judge.together
    for state in states:
        with state.lock:
            open_now = [known.finding for known in state.open.values()]
        for finding in _one_of_each((*open_now, *together.about(state.name))):
            yield state.name, finding, here.judge.feed.quiet(state, finding.rule, now)
    for finding in _one_of_each(together.findings):
        yield FLEET, finding, None


def _one_of_each(findings: Iterable[Finding]) -> Iterable[Finding]:
    first: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.gpu), finding)
    return first.values()


def _family(name: str, kind: str, text: str, values: Iterable[tuple[Labels, float]]) -> str:
    lines = [f"# HELP {name} {text}\n# TYPE {name} {kind}\n"]
    for labels, value in values:
        told = ",".join(f'{key}="{_escaped(known)}"' for key, known in labels.items() if known is not None)
        lines.append(f"{name}{{{told}}} {value}\n" if told else f"{name} {value}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')
