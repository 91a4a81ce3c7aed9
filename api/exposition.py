"""What Prometheus reads of us: findings as time series, the fleet, and how this server does.

Names keep to Prometheus' habits: base units, `_total` for counters; no label grows with processes.
Of each GPU there are the few values that a picture of its day needs; the rest are the exporters' work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from api.judging.nodes import SILENT_INTERVALS
from api.judging.together import FLEET
from gpudiag import __version__
from gpudiag.model import SEVERITY_ORDER, Finding
from gpudiag.words.foreign import plain

if TYPE_CHECKING:
    from api.judging.nodes import NodeState
    from api.parts import Parts

GPU_READINGS = {
    "utilization_percent": "Share of time in which a kernel ran.",
    "memory_used_bytes": "Memory in use, without the driver's reserve where NVML tells them apart.",
    "memory_total_bytes": "Memory of the GPU.",
    "power_watts": "Power drawn.",
    "temperature_celsius": "Temperature of the GPU.",
}
"""Fields of a GPU in a snapshot. What was not read has no series, and a silent node has none at all."""


def exposition(here: Parts) -> str:
    """Everything, as Prometheus' text format."""
    return "".join(_families(here))


def _families(here: Parts) -> Iterator[str]:
    now = here.answers.now()
    states = here.judge.judged()
    yield _family("gpudiag_build_info", "gauge", "The running version.", [(_labels(version=__version__), 1)])
    yield _severities(here, states)
    yield from _findings(here, states, now)
    ages = [(_labels(node=state.name), round(state.window.age(now), 1)) for state in states]
    yield _family("gpudiag_snapshot_age_seconds", "gauge", "Age of a node's newest snapshot.", ages)
    yield from _gpu_readings(states, now)
    for name, kind, text, value in OF_THE_SERVER:
        yield _family(f"gpudiag_{name}", kind, text, [("", value(here))])


OF_THE_SERVER: tuple[tuple[str, str, str, Callable[[Parts], float]], ...] = (
    ("snapshots_stored_total", "counter", "Snapshots stored.", lambda here: here.writer.stored),
    ("snapshots_duplicate_total", "counter", "Snapshots that came again.",
     lambda here: here.writer.duplicates),
    ("reports_refused_total", "counter", "Reports refused because the queue was full.",
     lambda here: here.writer.refused),
    ("store_commits_total", "counter", "Transactions of the writer.", lambda here: here.writer.commits),
    ("reports_waiting", "gauge", "Reports in the queue.", lambda here: here.writer.waiting),
    ("store_trouble", "gauge", "1 while the store cannot be written.",
     lambda here: int(here.writer.trouble is not None)),
    ("store_log_kept_bytes", "gauge",
     "Bytes in SQLite's log that another program's transaction keeps from being moved into the file.",
     lambda here: here.store.kept_log.bytes),
    ("start_time_seconds", "gauge", "When this server started.", lambda here: here.started_at),
)  # fmt: skip
"""Name, kind, what it is, and where it is kept."""


def _severities(here: Parts, states: Iterable[NodeState]) -> str:
    counts = dict.fromkeys(SEVERITY_ORDER, 0)
    for state in states:
        counts[here.judge.wording.verdict(state, "en")["severity"]] += 1
    values = [(_labels(severity=severity), count) for severity, count in counts.items()]
    return _family("gpudiag_nodes", "gauge", "Nodes by the severity of their verdict.", values)


def _findings(here: Parts, states: Iterable[NodeState], now: float) -> Iterator[str]:
    found: list[tuple[str, float]] = []
    since: list[tuple[str, float]] = []
    for node, finding, quiet in _open_findings(here, states, now):
        known = {
            "node": node,
            "gpu": None if finding.gpu is None else str(finding.gpu),
            "uuid": finding.gpu_uuid,
            "rule": finding.rule,
            "severity": finding.severity,
        }
        told = _labels(**known, confidence=finding.confidence, state=finding.state, quiet=quiet)
        found.append((told, 1))
        if finding.since is not None:
            since.append((_labels(**known), round(finding.since, 3)))
    yield _family("gpudiag_finding", "gauge", "A finding that is open now.", found)
    yield _family("gpudiag_finding_since_timestamp_seconds", "gauge", "When it opened.", since)


def _gpu_readings(states: Iterable[NodeState], now: float) -> Iterator[str]:
    gpus = [
        (_labels(node=state.name, gpu=str(gpu.index)), gpu)
        for state in states
        if state.window.latest is not None
        and now - state.window.latest.taken_at <= SILENT_INTERVALS * state.window.interval
        for gpu in state.window.latest.gpus
    ]
    for name, text in GPU_READINGS.items():
        values = [(labels, value) for labels, gpu in gpus if (value := getattr(gpu, name)) is not None]
        yield _family(f"gpudiag_gpu_{name}", "gauge", text, values)


def _open_findings(
    here: Parts, states: Iterable[NodeState], now: float
) -> Iterator[tuple[str, Finding, str | None]]:
    """(node, finding, why nobody is to be told): one however many processes or events a rule names."""
    together = here.judge.together
    for state, open_now in here.judge.open_findings(states):
        for finding in _one_of_each((*open_now, *together.about(state.name))):
            yield state.name, finding, here.judge.feed.quiet(state, finding.rule, now)
    for finding in _one_of_each(together.findings):
        yield FLEET, finding, None


def _one_of_each(findings: Iterable[Finding]) -> Iterable[Finding]:
    first: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.gpu), finding)
    return first.values()


def _family(name: str, kind: str, text: str, values: Iterable[tuple[str, float]]) -> str:
    lines = [f"# HELP {name} {text}\n# TYPE {name} {kind}\n"]
    lines += [f"{name}{labels} {value}\n" for labels, value in values]
    return "".join(lines)


def _labels(**known: str | None) -> str:
    """As they stand after a metric's name; without those that are not known."""
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in known.items() if value is not None)
    return f"{{{told}}}"


def _escaped(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')
