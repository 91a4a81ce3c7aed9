"""One or two cells of a GPU read ERR! while the others are valid: a sensor, not the GPU."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import GpuWindow

NO_SENSOR = (
    "*", "name", "mig_mode", "mig_mode_pending",
    "power_limit_watts", "power_limit_default_watts", "power_limit_max_watts",
)  # fmt: skip
"""ERR! for the MIG mode only tells that the tool is newer than the driver; a limit is no sensor."""
OTHERS = ("memory_used_bytes", "utilization_percent", "temperature_celsius", "power_watts", "pstate")


@rule(severity="info", rank=INEFFICIENT, confidence="proven", maturity="experimental", given=("pasted",))
def sensor_error(gpu: GpuWindow, *, max_failed: int = 2) -> Fires | None:
    """One reading fails; the GPU itself answers."""
    snapshot = gpu.node.latest
    if snapshot is None or gpu.reading.error:
        return None
    subject = f"gpu:{gpu.index}"
    failed = [
        gap.metric
        for gap in snapshot.gaps
        if gap.subject == subject and gap.reason == "unknown_error" and gap.metric not in NO_SENSOR
    ]
    if not 0 < len(failed) <= max_failed:
        return None
    valid = [name for name in OTHERS if getattr(gpu.reading, name) is not None]
    if len(valid) < 2:
        return None
    seen = [measured(metric, "ERR!", source="pasted text") for metric in failed]
    seen += [measured(name, getattr(gpu.reading, name), source="pasted text") for name in valid[:2]]
    return Fires(tuple(seen), variant="fan" if failed == ["fan_percent"] else None)
