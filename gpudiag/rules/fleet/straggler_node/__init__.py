"""One node of a job is slower than its peers, and something on it explains why."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from gpudiag.fleet import Fleet
from gpudiag.rule import INEFFICIENT, Fires, calculated, measured, rule
from gpudiag.rules.fleet.jobs import distance, gpus_by_job
from gpudiag.window import W15, GpuWindow, Window

HARDWARE = frozenset(
    [
        "thermal-hw-slowdown",
        "thermal-sw-slowdown",
        "thermal-margin-low",
        "hbm-hot",
        "power-brake",
        "power-limit-lowered",
        "clocks-stuck-low",
        "app-clocks-locked",
        "pcie-width-degraded",
        "pcie-gen-degraded-under-load",
        "pcie-errors",
        "nvlink-down",
        "nvlink-errors",
        "fabric-degraded",
        "ib-link-problem",
        "network-bound",
        "ecc-corrected-rate",
        "rank-imbalance",
    ]
)
"""Findings that can make a node slow."""


@rule(severity="warning", rank=INEFFICIENT, maturity="experimental")
def straggler_node(
    fleet: Fleet, *, min_peers: int = 4, min_distance: float = 4.0, min_below_share: float = 0.10
) -> Iterator[Fires]:
    """This node is slower than its peers under the same job."""
    slowed = {node for node, findings in fleet.findings.items() if any(f.rule in HARDWARE for f in findings)}
    if not slowed:
        return
    for job, gpus in gpus_by_job(fleet.windows.values()).items():
        by_node: dict[str, list[GpuWindow]] = defaultdict(list)
        for gpu in gpus:
            by_node[gpu.node.node].append(gpu)
        if len(by_node) <= min_peers or slowed.isdisjoint(by_node):
            continue
        clocks = {node: _clock(found) for node, found in by_node.items()}
        values = list(clocks.values())
        for node in sorted(slowed & clocks.keys()):
            clock = clocks[node]
            low = clock <= (1 - min_below_share) * median(values)
            if low and distance(clock, values) <= -min_distance:
                reasons = [f.rule for f in fleet.findings[node] if f.rule in HARDWARE]
                yield _fires(fleet.windows[node], job, clock, median(values), reasons, len(values))


def _clock(gpus: list[GpuWindow]) -> float:
    return median(gpu.over("sm_clock_megahertz", W15).mean for gpu in gpus)


def _fires(window: Window, job: str, clock: float, middle: float, reasons: list[str], nodes: int) -> Fires:
    return Fires(
        (
            measured("sm_clock_megahertz", round(clock), of=round(middle), window=W15),
            calculated("nodes", nodes),
        ),
        key=f"node:{window.node}",
        words={"host": window.node, "job": job, "reasons": ", ".join(dict.fromkeys(reasons))},
    )
