"""Several programs take turns on one GPU."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import W2, W5, GpuWindow, ProcessWindow
from gpudiag.workloads import AT_REST


@rule(severity="info", rank=INEFFICIENT, given=("working", "shared"))
def gpu_shared_contention(gpu: GpuWindow, *, min_sm_percent: float = 10.0) -> Fires | None:
    """Several processes take turns on this GPU."""
    processes = gpu.processes
    if len(processes) < 2 or gpu.reading.mig_mode:
        return None
    active = [process for process in processes if _active(process, min_sm_percent)]
    if len(active) < 2 or len({_group(process) for process in active}) < 2:
        return None
    if any("mps" in (process.reading.name or "").lower() for process in processes):
        return None  # sharing by MPS is declared
    first, second = active[0], active[1]
    shares = [process.over("sm_percent", W5).mean for process in (first, second)]
    window = W5 if gpu.covers(W5) else None
    return Fires(
        (
            measured("first_sm_percent", round(shares[0]), window=window),
            measured("second_sm_percent", round(shares[1]), window=window),
            measured("programs", len(active)),
        ),
        confidence="likely" if window else "possible",
        words={
            "first": f"{first.reading.name or '-'} (pid {first.reading.pid})",
            "second": f"{second.reading.name or '-'} (pid {second.reading.pid})",
        },
    )


def _active(process: ProcessWindow, min_percent: float) -> bool:
    """It works of late and did over the last minutes; desktop programs do not count.

    One reading is not asked: the driver names no process that did nothing since the reading before.
    """
    if process.workload.kind in AT_REST or all(use.sm_percent is None for use in process.reading.gpus or ()):
        return False
    return min(process.over("sm_percent", span).mean for span in (W2, W5)) >= min_percent


def _group(process: ProcessWindow) -> str:
    """Processes of one job or one parent belong together."""
    reading = process.reading
    job = reading.slurm_job or reading.pod or reading.container
    if job is None and reading.parent_pid not in (None, 1) and reading.parent_name != "systemd":
        return f"parent {reading.parent_pid}"
    return job or f"pid {reading.pid}"  # init takes over everybody's children
