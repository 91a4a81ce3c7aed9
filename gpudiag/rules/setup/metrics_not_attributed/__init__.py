"""Several pods share one GPU: its utilization belongs to the device, not to a pod."""

from gpudiag.rule import HINT, Fires, calculated, measured, rule
from gpudiag.window import GpuWindow


@rule(severity="info", rank=HINT, confidence="proven", given=("shared",))
def metrics_not_attributed(gpu: GpuWindow) -> Fires | None:
    """More than one pod uses this GPU, and nothing tells which of them works."""
    if not gpu.node.processes or gpu.reading.mig_mode:
        return None
    processes = gpu.processes
    pods = {f"{p.reading.namespace or ''}/{p.reading.pod}" for p in processes if p.reading.pod}
    if len(pods) < 2:
        return None
    uses = [use for p in processes for use in p.reading.gpus or () if use.gpu == gpu.index]
    if uses and all(use.sm_percent is not None for use in uses):
        return None  # each process has its own share
    return Fires(
        (
            calculated("pod_count", len(pods)),
            measured("utilization_percent", gpu.now("utilization_percent")),
        ),
        words={"pods": ", ".join(sorted(pods)[:4])},
    )
