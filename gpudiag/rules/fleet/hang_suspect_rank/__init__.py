"""A job hangs, and exactly one of its ranks differs from the others: the suspect."""

from collections.abc import Iterator

from gpudiag.fleet import Fleet
from gpudiag.owners import cancelling
from gpudiag.rule import STUCK, Fires, calculated, rule
from gpudiag.rules.fleet.jobs import gpus_by_job, job_of
from gpudiag.window import W2, GpuWindow, NotMeasured

HANGS = "stuck-job"


@rule(severity="critical", rank=STUCK, maturity="experimental", also=HANGS)
def hang_suspect_rank(fleet: Fleet, *, min_stuck: int = 2) -> Iterator[Fires]:
    """A job hangs; one rank differs from the others."""
    stuck = {
        (node, finding.gpu)
        for node, findings in fleet.findings.items()
        for finding in findings
        if finding.rule == HANGS and finding.state in ("open", "acknowledged")
    }
    if len(stuck) < min_stuck:
        return
    for job, gpus in gpus_by_job(fleet.windows.values()).items():
        hanging = [gpu for gpu in gpus if (gpu.node.node, gpu.index) in stuck]
        rest = [(gpu, _differs(gpu)) for gpu in gpus if gpu not in hanging]
        odd = [(gpu, how) for gpu, how in rest if how is not None]
        if len(hanging) < min_stuck or len(odd) != 1 or len(rest) != 1:
            continue  # all stopped together, or several differ: nobody to name
        gpu, how = odd[0]
        process = next((p for p in gpu.processes if job_of(p) == job), None)
        yield Fires(
            (calculated("stuck_gpus", len(hanging), of=len(gpus)),),
            key=f"{job}:{gpu.node.node}:{gpu.index}",
            gpu=gpu.index,
            variant=None if how == "quiet" else "lost" if how == "lost" else "state",
            words={
                "state": how or "-",
                "job": job,
                "host": gpu.node.node,
                "suspect": str(gpu.index),
                "pid": str(process.reading.pid) if process else "PID",
                "cancel": (process and cancelling(process.reading)) or "scancel JOB",
            },
        )


def _differs(gpu: GpuWindow) -> str | None:
    """How this rank differs from ranks that spin: lost, quiet, the state of its process, or None."""
    if not gpu.present or gpu.reading.error:
        return "lost"
    states = [p.reading.state for p in gpu.processes]
    if any(state in ("Z", "D", "gone") for state in states):
        return next(state for state in states if state in ("Z", "D", "gone"))
    try:
        return "quiet" if gpu.share("quiet", W2) >= 0.9 else None
    except NotMeasured:
        return None
