"""What Prometheus reads of us: findings as time series, the fleet, and how this server does.

Names keep to Prometheus' habits: base units, `_total` for counters; no label grows with processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpudiag import __version__
from gpudiag.model import SEVERITY_ORDER
from gpudiag.words.foreign import plain

if TYPE_CHECKING:
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
    ages: list[tuple[Labels, float]] = []
    for state in states:
        with state.lock:
            open_now = [known.finding for known in state.open.values()]
            ages.append(({"node": state.name}, round(state.window.age(now), 1)))
        seen: set[tuple[str, int | None]] = set()
        for finding in open_now:
            if (finding.rule, finding.gpu) in seen:
                continue  # one series however many processes or events the rule names
            seen.add((finding.rule, finding.gpu))
            labels: Labels = {
                "node": state.name,
                "gpu": None if finding.gpu is None else str(finding.gpu),
                "uuid": finding.gpu_uuid,
                "rule": finding.rule,
                "severity": finding.severity,
            }
            found.append(({**labels, "confidence": finding.confidence, "state": finding.state}, 1))
            if finding.since is not None:
                since.append((labels, round(finding.since, 3)))
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


def _family(name: str, kind: str, text: str, values: Iterable[tuple[Labels, float]]) -> str:
    lines = [f"# HELP {name} {text}\n# TYPE {name} {kind}\n"]
    for labels, value in values:
        told = ",".join(f'{key}="{_escaped(known)}"' for key, known in labels.items() if known is not None)
        lines.append(f"{name}{{{told}}} {value}\n" if told else f"{name} {value}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')
