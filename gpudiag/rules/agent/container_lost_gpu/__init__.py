"""A container lost its GPU devices while the host still has them."""

from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import Window


@rule(
    severity="critical",
    rank=BLIND,
    explains=("nvml-unavailable", "gpu-count-changed"),
    clear_seconds=60.0,  # an answer of the driver is proof
)
def container_lost_gpu(node: Window, *, min_failures: int = 3) -> Fires | None:
    """The container lost its GPU devices."""
    snapshot = node.latest
    if snapshot is None:
        return None
    if snapshot.paste is not None:
        lost = "unknown_error" in (snapshot.paste.errors or ()) and "container" in (
            snapshot.paste.hints or ()
        )
        if not lost:
            return None
        return Fires((measured("reason", "unknown_error", source="pasted text"),))
    nvml, host = snapshot.nvml, snapshot.host
    if nvml is None or nvml.error not in ("unknown_error", "no_permission"):
        return None
    if host is None or not host.in_container or not node.most_gpus:
        return None  # it never had any
    failed = node.host.over("nvml_failed", node.span_of(min_failures))
    if failed.mean * failed.n < min_failures - 0.5:
        node.require(min_failures * node.interval * 1.2)
        return None
    had = measured("gpus_before", node.most_gpus)
    return Fires((measured("reason", nvml.error, source="NVML"), had))
