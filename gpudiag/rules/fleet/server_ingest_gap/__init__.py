"""Most nodes went silent at once: the server or the network is at fault, not the nodes."""

from gpudiag.fleet import Fleet
from gpudiag.rule import BLIND, Fires, calculated, measured, rule
from gpudiag.window import Window


@rule(severity="warning", rank=BLIND, explains=("agent-stale",), clear_seconds=0.0)
def server_ingest_gap(
    fleet: Fleet,
    *,
    min_nodes: int = 3,
    min_share: float = 0.50,
    max_intervals: float = 2.5,
    min_age_seconds: float = 30.0,
) -> Fires | None:
    """Most nodes went silent at once.

    It waits less than agent-stale does: it is to be known before the first of them is stale.
    """
    now = fleet.now if fleet.judged_at is None else fleet.judged_at
    reporting = [window for window in fleet.windows.values() if window.latest and not window.pasted]
    late = [w for w in reporting if w.age(now) > min_age_seconds and w.node not in fleet.catch_up]
    silent = [w for w in late if w.age(now) > max_intervals * w.interval]
    if len(silent) < min_nodes or len(silent) <= min_share * len(reporting):
        return None
    last = sorted(window.received_at for window in silent)
    recent = [at for at in last if at >= last[-1] - 120.0]
    if len(recent) <= min_share * len(reporting):
        return None  # they went silent at different times
    for window in silent:
        window.require_listening(now, max(max_intervals * window.interval, min_age_seconds))
    return Fires(
        (
            calculated("silent_nodes", len(recent), of=len(reporting)),
            measured("last_report_at", last[-1], source="server"),
            measured("age_seconds", round(now - last[-1]), source="server"),
        ),
        since=last[-1],
        words={"hosts": _some(silent)},
    )


def _some(windows: list[Window]) -> str:
    names = sorted(window.node for window in windows)
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
