"""One node fails again and again."""

from collections import defaultdict
from collections.abc import Iterator

from gpudiag.fleet import Fleet
from gpudiag.rule import DEVICE, Fires, calculated, rule
from gpudiag.window import W7D

NO_FAULT_OF_THE_NODE = frozenset(("agent-stale", "server-ingest-gap", "serving-wedged", "host-oom-kill"))


@rule(severity="warning", rank=DEVICE, maturity="experimental")
def repeat_offender_host(
    fleet: Fleet, *, min_episodes: int = 3, apart_seconds: float = 3600.0
) -> Iterator[Fires]:
    """This node failed several times in seven days."""
    opened: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for at, node, finding, what in fleet.changes:
        if what != "opened" or finding.severity != "critical" or at < fleet.now - W7D:
            continue
        if finding.rule in NO_FAULT_OF_THE_NODE:
            continue
        last = opened[node][-1][0] if opened[node] else None
        if last is None or at - last >= apart_seconds:  # what opens together has one cause
            opened[node].append((at, finding.rule))
    for node, episodes in opened.items():
        if len(episodes) >= min_episodes and node in fleet.windows:
            rules = ", ".join(dict.fromkeys(rule_id for _, rule_id in episodes))
            yield Fires(
                (calculated("episodes", len(episodes), window=W7D, source="findings"),),
                key=f"node:{node}",
                words={"host": node, "faults": rules},
            )
