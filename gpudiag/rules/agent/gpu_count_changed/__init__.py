"""Fewer GPUs answer than this node has or had."""

from gpudiag.model import Snapshot
from gpudiag.rule import DEVICE, Fires, declared, measured, rule
from gpudiag.rules.faults.episodes import BOOT_GRACE
from gpudiag.window import GpuWindow, Window


@rule(severity="critical", rank=DEVICE, confidence="proven")
def gpu_count_changed(node: Window, *, min_missing_samples: int = 3) -> Fires | None:
    """Fewer GPUs answer than expected."""
    snapshot = node.latest
    if snapshot is None or node.pasted or (snapshot.nvml is not None and snapshot.nvml.error is not None):
        return None
    expected = node.due_gpus
    count = len(snapshot.gpus)
    missing = [gpu for gpu in node.gpus_in_order() if not gpu.present]
    if count >= expected:
        return None if node.expected_gpus is not None else _refused(node, snapshot)
    since = max((gpu.last_seen for gpu in missing), default=node.started)
    if node.time - since < (min_missing_samples - 0.5) * node.interval:
        return None
    if len(missing) == 0 and node.expected_gpus is None:
        return None
    if missing and all(_told_by_the_kernel(node, gpu) for gpu in missing):
        return None  # gpu-lost-bus speaks, and names each
    names = ", ".join(str(gpu.index) for gpu in missing) or "-"
    known = node.expected_gpus is not None
    evidence = [
        measured("gpus_seen", count),
        (declared if known else measured)("gpus_expected", expected, source="settings" if known else "NVML"),
    ]
    bus = snapshot.host.pci_gpu_count if snapshot.host else None
    if bus is not None:
        evidence.append(measured("gpus_on_bus", bus, source="sysfs"))
    variant = None if bus is None else "driver-lost-it" if bus > count else "bus-lost-it"
    return Fires(
        tuple(evidence),
        variant=variant,
        gpu=missing[0].index if len(missing) == 1 else None,
        words={"missing": names},
        since=since if missing else None,
    )


def _refused(node: Window, snapshot: Snapshot) -> Fires | None:
    """A card on the bus that no driver has, beside others of its model that run."""
    host = snapshot.host
    if host is None or not host.pci_gpus_unbound:
        return None
    if host.booted_at is None or node.time - host.booted_at < BOOT_GRACE:
        return None  # the driver may still take it
    return Fires(
        (
            measured("gpus_seen", len(snapshot.gpus)),
            measured("gpus_unbound", host.pci_gpus_unbound, source="sysfs"),
        ),
        severity="warning",
        confidence="likely",
        variant="unbound",
    )


def _told_by_the_kernel(node: Window, gpu: GpuWindow) -> bool:
    """The kernel log says that this GPU fell off the bus."""
    return any(
        event.gpu == gpu.index
        and (event.kind == "fallen_off_bus" or (event.kind == "xid" and event.number == 79))
        for event in node.events
    )
