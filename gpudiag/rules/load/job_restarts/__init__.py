"""A job starts again and again, and ends before it gets to work."""

from gpudiag.owners import log_of
from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.rules.holders import whose
from gpudiag.rules.load.evidence import WORKED_PERCENT
from gpudiag.rules.load.restarts import LOG, ended_young, in_another_container, life, starts
from gpudiag.window import W2, W15, W30, GpuWindow, ProcessWindow

KINDS = ("training", "python", "framework")
SHELLS = ("bash", "sh", "zsh", "fish", "dash")
LAUNCHERS = ("torchrun", "pt_elastic", "accelerate", "deepspeed")  # start workers anew that failed


@rule(
    severity="warning",
    rank=STUCK,
    maturity="experimental",
    given=("process", "job"),
    explains=("model-loading", "memory-held-idle", "healthy-busy"),
    clear_seconds=360.0,  # whoever restarts it waits up to five minutes in between
)
def job_restarts(
    gpu: GpuWindow,
    *,
    min_starts: int = 3,
    within_seconds: float = W30,
    max_life_seconds: float = W15,
    max_utilization_percent: float = 20.0,
    min_memory_share: float = 0.05,
) -> Fires | None:
    """A job starts again and again."""
    if not gpu.node.departed:
        return None
    at_work = gpu.users.at_work
    if any(gpu.node.time - (process.reading.started_at or 0.0) > max_life_seconds for process in at_work):
        return None  # somebody stays: short programs beside it are not what the GPU is for
    now = next((process for process in at_work if process.workload.kind in KINDS), None)
    if now is None:
        return None
    before = [p for p in ended_young(gpu, within_seconds, max_life_seconds) if _same(p, now)]
    times = starts([*before, now])
    held = max((process.memory_on(gpu.index) or 0 for process in [*before, now]), default=0)
    if times < min_starts or held < min_memory_share * gpu.now("memory_total_bytes"):
        return None
    if _lasts(gpu, now, max(map(life, before))):
        return None
    first = min(process.last_seen - life(process) for process in before)
    span = min(within_seconds, max(gpu.node.time - first, 60.0))
    used = gpu.over("utilization_percent", span).mean
    restarted = any(_started_anew(process, now) for process in before)
    if not restarted and used >= max_utilization_percent:
        return None  # short runs that work, one after the other
    sure = restarted or (now.workload.kind == "training" and not _by_hand(now))
    return Fires(
        (
            measured("starts", times, window=within_seconds, source="/proc"),
            measured("longest_life_seconds", round(max(map(life, before))), source="/proc"),
            measured("utilization_percent", round(used, 1), window=span),
        ),
        severity=None if sure else "info",
        confidence=None if sure else "possible",
        variant=None if sure else "may",
        key=now.reading.name or "",
        words={**whose(now), "log": log_of(now.reading) or LOG},
    )


def _lasts(gpu: GpuWindow, now: ProcessWindow, longest: float) -> bool:
    """Whether this run has got further than all before, and works."""
    return life(now) > 1.5 * longest and gpu.over("utilization_percent", W2).mean >= WORKED_PERCENT


def _same(one: ProcessWindow, other: ProcessWindow) -> bool:
    """Whether both are runs of one job: the same command of the same owner, in the same place."""
    a, b = one.reading, other.reading
    return (
        (a.command or a.name) == (b.command or b.name)
        and (a.user, a.pod, a.namespace) == (b.user, b.pod, b.namespace)
        and (a.pod is not None or a.container == b.container)
    )


def _by_hand(now: ProcessWindow) -> bool:
    """Whether a shell started it, outside of any job: a person may try it out."""
    reading = now.reading
    managed = reading.pod or reading.slurm_job or (reading.unit or "").endswith(".service")
    return not managed and (reading.parent_name or "").rsplit("/", 1)[-1] in SHELLS


def _started_anew(before: ProcessWindow, now: ProcessWindow) -> bool:
    """Whether a supervisor started it because the run before had ended: a launcher, or Kubernetes."""
    a, b = before.reading, now.reading
    by_launcher = a.parent_pid == b.parent_pid and (b.parent_name or "").rsplit("/", 1)[-1] in LAUNCHERS
    return by_launcher or in_another_container(before, now)
