"""One GPU of a job runs differently from the others and may hold them up."""

from statistics import median

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.fleet.jobs import distance, gpus_by_job
from gpudiag.window import W15, GpuWindow, Window


@rule(severity="warning", rank=INEFFICIENT, maturity="experimental", confidence="possible")
def rank_imbalance(
    node: Window,
    *,
    min_ranks: int = 4,
    min_distance: float = 4.0,
    min_below_share: float = 0.15,
    min_utilization_percent: float = 50.0,
) -> list[Fires]:
    """One GPU of the job lags behind the others."""
    found: list[Fires] = []
    if len(node.gpus) < min_ranks or not node.processes:
        return found
    for job, gpus in gpus_by_job([node]).items():
        busy = [g for g in gpus if g.over("utilization_percent", W15).mean >= min_utilization_percent]
        if len(busy) < min_ranks:
            continue
        for name in ("sm_clock_megahertz", "power_watts"):
            values = [gpu.over(name, W15).mean for gpu in busy]
            middle = median(values)
            low = [
                (gpu, value)
                for gpu, value in zip(busy, values, strict=True)
                if value <= (1 - min_below_share) * middle and distance(value, values) <= -min_distance
            ]
            if len(low) == 1:
                node.require(W15)
                found.append(_fires(job, low[0][0], name, low[0][1], middle, len(busy)))
                break
    return found


def _fires(job: str, gpu: GpuWindow, name: str, value: float, middle: float, ranks: int) -> Fires:
    return Fires(
        (
            measured(name, round(value), of=round(middle), window=W15),
            measured("ranks", ranks),
        ),
        variant=None if name == "sm_clock_megahertz" else "power",
        key=job,
        gpu=gpu.index,
        words={"job": job},
    )
