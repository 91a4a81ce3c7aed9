"""Many nodes show the same fault since the same moment: one cause is likely."""

from collections import defaultdict
from collections.abc import Iterator

from gpudiag.fleet import Fleet
from gpudiag.model import TROUBLE
from gpudiag.rule import HINT, Fires, calculated, measured, rule
from gpudiag.window import Window

GROUPS = ("rack", "switch", "pool", "zone")


@rule(severity="info", rank=HINT, maturity="experimental")
def common_cause(
    fleet: Fleet, *, min_nodes: int = 3, min_share: float = 0.20, within_seconds: float = 300.0
) -> Iterator[Fires]:
    """Many nodes show the same fault since the same time."""
    since: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for node, findings in fleet.findings.items():
        for finding in findings:
            if finding.severity in TROUBLE and finding.since is not None:
                since[finding.rule].append((finding.since, node))
    for rule_id, opened in since.items():
        together = _together(sorted(opened), within_seconds)
        nodes = sorted({node for _, node in together})
        if len(nodes) < min_nodes:
            continue
        group, members = _group(fleet, nodes)
        if len(nodes) < min_share * members:
            continue
        if rule_id == "agent-stale" and 2 * len(nodes) > len(fleet.windows):
            continue  # server-ingest-gap speaks
        shown = ", ".join(nodes[:5]) + (" …" if len(nodes) > 5 else "")
        yield Fires(
            (
                calculated("nodes", len(nodes), of=members),
                measured("first_at", together[0][0], source="findings"),
            ),
            key=rule_id,
            words={"fault": rule_id, "hosts": shown, "group": group},
        )


def _together(opened: list[tuple[float, str]], within: float) -> list[tuple[float, str]]:
    """The largest set that opened within one span."""
    best: list[tuple[float, str]] = []
    for i, (start, _) in enumerate(opened):
        span = [item for item in opened[i:] if item[0] <= start + within]
        if len(span) > len(best):
            best = span
    return best


def _group(fleet: Fleet, nodes: list[str]) -> tuple[str, int]:
    """The smallest label that all of them share, with its number of nodes; else the whole fleet."""
    best = ("the fleet", len(fleet.windows))
    for label in (*GROUPS, "driver"):
        values = {_value(fleet.windows.get(node), label) for node in nodes}
        if len(values) != 1 or None in values:
            continue
        value = values.pop()
        members = sum(_value(window, label) == value for window in fleet.windows.values())
        if members < best[1]:
            best = (f"{label} {value}", members)
    return best


def _value(window: Window | None, label: str) -> str | None:
    latest = window.latest if window else None
    if latest is None:
        return None
    return latest.driver_version if label == "driver" else (latest.labels or {}).get(label)
