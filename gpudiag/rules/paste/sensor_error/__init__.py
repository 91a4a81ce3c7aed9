"""Some cells of a GPU read ERR! while others are valid: one is a sensor, several may be more."""

from gpudiag.model import Severity
from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import GpuWindow

NO_SENSOR = (
    "*", "name", "mig_mode", "mig_mode_pending",
    "power_limit_watts", "power_limit_default_watts", "power_limit_max_watts",
)  # fmt: skip
"""ERR! for the MIG mode only tells that the tool is newer than the driver; a limit is no sensor."""
OTHERS = ("memory_used_bytes", "utilization_percent", "temperature_celsius", "power_watts", "pstate")
CORE = (*OTHERS, "fan_percent", "ecc_uncorrected_volatile", "sm_clock_megahertz", "memory_clock_megahertz")
"""What every driver reads of a card; the rest of `-q` may fail because the tool is newer than the driver."""


@rule(severity="info", rank=INEFFICIENT, confidence="proven", maturity="experimental", given=("pasted",))
def sensor_error(gpu: GpuWindow, *, max_failed: int = 2) -> Fires | None:
    """Some readings fail (ERR!); the GPU itself answers. Several at once are more than a sensor."""
    snapshot = gpu.node.latest
    if snapshot is None or gpu.reading.error:
        return None
    subject = f"gpu:{gpu.index}"
    failed = [
        gap.metric
        for gap in snapshot.gaps
        if gap.subject == subject and gap.reason == "unknown_error" and gap.metric not in NO_SENSOR
    ]
    valid = [name for name in OTHERS if getattr(gpu.reading, name) is not None]
    core = [name for name in failed if name in CORE]
    several = len(core) > max_failed
    told = core if len(failed) > max_failed else failed
    if not told or len(valid) < (1 if several else 2):
        return None
    seen = [measured(metric, "ERR!", source="pasted text") for metric in told]
    seen += [measured(name, getattr(gpu.reading, name), source="pasted text") for name in valid[:2]]
    variant = "several" if several else "fan" if told == ["fan_percent"] else None
    severity: Severity = "warning" if several else "info"
    return Fires(tuple(seen), variant=variant, severity=severity)
