"""One CPU thread feeds the GPU and cannot go faster."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import (
    feeders,
    hottest,
    low_utilization,
    rests_in_turns,
    starved,
    waits_its_turn,
)
from gpudiag.window import W5, GpuWindow


@rule(severity="warning", rank=INEFFICIENT, given=("loaded", "underused"), also="low-util-under-load")
def cpu_bound_single_core(
    gpu: GpuWindow,
    *,
    min_thread_percent: float = 95.0,
    max_next_percent: float = 60.0,
    max_host_percent: float = 90.0,
) -> Fires | None:
    """One CPU thread is the bottleneck."""
    load = starved(gpu)
    if load is None or rests_in_turns(gpu, load) or waits_its_turn(gpu, load):
        return None
    process, first, second = hottest(feeders(gpu, load))
    if first < min_thread_percent or second >= max_next_percent:
        return None
    host = gpu.node.host
    evidence = [
        measured("hottest_thread_percent", round(first), window=W5, source="/proc"),
        measured("next_thread_percent", round(second), window=W5, source="/proc"),
        low_utilization(gpu),
        *load.evidence,
    ]
    if gpu.node.latest and gpu.node.latest.host and gpu.node.latest.host.cpu_percent is not None:
        busy = host.over("cpu_percent", W5).mean
        if busy >= max_host_percent:
            return None  # all cores are busy: cpu-saturated
        evidence.append(measured("cpu_percent", round(busy), window=W5, source="/proc"))
    threads = process.reading.threads or []
    return Fires(
        tuple(evidence),
        words={
            "process": process.reading.name or "-",
            "pid": str(process.reading.pid),
            "thread": (threads[0].name if threads else None) or "-",
        },
    )
