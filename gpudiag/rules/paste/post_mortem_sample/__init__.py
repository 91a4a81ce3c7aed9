"""The text holds a failure and a table at rest: the table was taken afterwards and cannot show it."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import Window

FAILURES = ("out_of_memory", "aborted", "hung")


@rule(severity="info", rank=STATE, confidence="likely", maturity="experimental")
def post_mortem_sample(
    node: Window, *, max_used_share: float = 0.05, max_utilization_percent: float = 5.0
) -> Fires | None:
    """This sample was taken after the failure and cannot show it."""
    snapshot = node.latest
    hints = (snapshot.paste.hints if snapshot and snapshot.paste else None) or []
    failure = next((hint for hint in FAILURES if hint in hints), None)
    if snapshot is None or failure is None or not snapshot.gpus:
        return None
    for gpu in snapshot.gpus:
        used, total, load = gpu.memory_used_bytes, gpu.memory_total_bytes, gpu.utilization_percent
        if used is None or total is None or load is None:
            return None
        if used > max_used_share * total or load > max_utilization_percent:
            return None
    first = snapshot.gpus[0]
    return Fires(
        (
            measured("memory_used_bytes", first.memory_used_bytes, of=first.memory_total_bytes),
            measured("utilization_percent", first.utilization_percent),
        ),
        variant="out-of-memory" if failure == "out_of_memory" else None,
    )
