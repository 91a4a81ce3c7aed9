"""The node has stopped reporting: what was seen last is no longer known to be true."""

from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import W5, NotMeasured, Window


@rule(severity="warning", rank=BLIND, confidence="proven", clear_seconds=0.0)
def agent_stale(
    node: Window,
    *,
    max_intervals: float = 3.0,
    min_age_seconds: float = 45.0,
    critical_age_seconds: float = 300.0,
    busy_percent: float = 5.0,
) -> Fires | None:
    """No report from this node for a while.

    In maintenance that is expected, a fault of nothing; what the node does now is no better known.
    """
    if node.pasted or node.judged_at is None:
        return None
    age, most = node.age(node.judged_at), max(max_intervals * node.interval, min_age_seconds)
    node.require_listening(node.judged_at, most)
    if age <= most:
        return None
    maintained = node.maintenance_until is not None and node.maintenance_until > node.judged_at
    busy = not maintained and age > critical_age_seconds and _was_busy(node, busy_percent)
    return Fires(
        (
            measured("age_seconds", round(age), source="server"),
            measured("last_report_at", node.received_at, source="server"),
        ),
        severity="unknown" if maintained else "critical" if busy else "warning",
        variant="maintained" if maintained else "was-busy" if busy else None,
        since=node.received_at,
    )


def _was_busy(node: Window, busy_percent: float) -> bool:
    """Whether any GPU worked in the last minutes that were seen."""
    for gpu in node.gpus.values():
        try:
            if gpu.over("utilization_percent", W5).mean >= busy_percent:
                return True
        except NotMeasured:
            continue
    return False
