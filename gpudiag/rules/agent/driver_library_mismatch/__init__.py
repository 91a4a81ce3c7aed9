"""The driver was updated under a running kernel module: module and library differ."""

from gpudiag.model import Snapshot
from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import Window


@rule(
    severity="critical",
    rank=BLIND,
    confidence="proven",
    explains=("nvml-unavailable", "gpu-count-changed", "container-lost-gpu"),
    clear_seconds=60.0,  # an answer of the driver is proof
)
def driver_library_mismatch(node: Window, *, min_failures: int = 2) -> Fires | None:
    """The driver's kernel module and library differ in version."""
    snapshot = node.latest
    nvml = snapshot.nvml if snapshot else None
    pasted = snapshot.paste.errors if snapshot and snapshot.paste else None
    if snapshot is None or not (
        (nvml and nvml.error == "library_mismatch") or "library_mismatch" in (pasted or ())
    ):
        return _updated_on_disk(snapshot)
    if snapshot.source == "agent":
        failed = node.host.over("nvml_failed", node.span_of(min_failures))
        if failed.mean * failed.n < min_failures - 0.5:
            node.require(min_failures * node.interval * 1.2)
            return None
    evidence = [measured("reason", "library_mismatch", source="NVML")]
    host = snapshot.host
    if host is not None and host.kernel_driver_version:
        evidence.append(
            measured("module_version", host.kernel_driver_version, source="/proc/driver/nvidia/version")
        )
    if nvml is not None and nvml.version:
        evidence.append(measured("library_version", nvml.version, source="NVML"))
    if host is not None and host.in_container:
        return Fires(tuple(evidence), confidence="likely", variant="container")
    return Fires(tuple(evidence))


def _updated_on_disk(snapshot: Snapshot | None) -> Fires | None:
    """NVML answers us, who loaded it before the update; whoever starts now loads another version."""
    host = snapshot.host if snapshot else None
    if host is None or host.in_container:
        return None  # what a container loads need not be the host's
    module, library = host.kernel_driver_version, host.library_driver_version
    if module is None or library is None or module == library:
        return None
    return Fires(
        (
            measured("module_version", module, source="/proc/driver/nvidia/version"),
            measured("disk_version", library, source="libnvidia-ml.so.1"),
        ),
        confidence="likely",
        variant="updated",
    )
