"""A pasted value is more than any card can have: it is no measurement, and the card cannot be told by it."""

from gpudiag.rule import TEXT, Fires, measured, rule
from gpudiag.window import GpuWindow

# readings, the telling ones first, and the wording that names them. A limit that cannot be is not among them:
# the card itself is known without it.
READINGS = {
    "memory_used_bytes": "memory",
    "memory_total_bytes": "memory",
    "utilization_percent": "utilization",
    "power_watts": "power",
    "temperature_celsius": "temperature",
    "memory_utilization_percent": None,
    "encoder_percent": None,
    "decoder_percent": None,
    "sm_clock_megahertz": None,
    "memory_clock_megahertz": None,
    "temperature_memory_celsius": "temperature",
    "fan_percent": None,
}

SAY_NORMAL = (
    "encoder-load", "engine-asleep", "framework-prealloc-idle", "gpu-free", "healthy-busy", "idle-cpu-spin",
    "kv-pool-reserved-idle", "memory-bandwidth-bound", "mig-util-not-available", "model-loading",
    "pcie-low-gen-idle", "power-cap-at-full-load", "weights-loaded-idle",
)  # fmt: skip


@rule(
    severity="unknown",
    rank=TEXT,
    confidence="proven",
    maturity="experimental",
    given=("pasted",),
    explains=SAY_NORMAL,
)
def impossible_value(gpu: GpuWindow) -> Fires | None:
    """A pasted value cannot be (103 %, more memory used than there is): the card cannot be told by it."""
    snapshot = gpu.node.latest
    if snapshot is None or gpu.reading.error:
        return None
    subject = f"gpu:{gpu.index}"
    said = {gap.metric for gap in snapshot.gaps if gap.subject == subject and gap.reason == "nonsense"}
    found = [name for name in READINGS if name in said]
    if not found:
        return None
    seen = tuple(measured(name, "nonsense", source="pasted text") for name in found)
    return Fires(seen, variant=READINGS[found[0]])
