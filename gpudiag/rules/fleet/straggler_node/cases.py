"""Situations of straggler-node and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.model import Finding
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation

HOT = Finding(rule="thermal-sw-slowdown", severity="warning", confidence="proven", gpu=0)


def _fleet(nodes: int = 6, slow: float = 1300.0, hot: bool = True, job: str | None = "42") -> Fleet:
    windows = {}
    for i in range(nodes):
        s = Situation(node=f"node-{i}")
        clock = slow if i == 2 else 1700.0 + i
        s.gpu(0).shows(utilization_percent=97.0, sm_clock_megahertz=clock, power_watts=600.0)
        s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py", slurm_job=job)
        windows[s.window.node] = s.passes(minutes=16).window
    findings = {"node-2": [HOT]} if hot else {}
    return Fleet(windows=windows, now=next(iter(windows.values())).time, findings=findings)


CASES = [
    Case(
        "one of six nodes is slower, and it is hot", lambda: _fleet(), "fires", gpu=None, severity="warning"
    ),
    Case("slower without a reason on it", lambda: _fleet(hot=False), "clear"),
    Case("all alike", lambda: _fleet(slow=1702.0), "clear"),
    Case("three nodes are too few", lambda: _fleet(nodes=3), "clear"),
    Case("no job in common", lambda: _fleet(job=None), "clear"),
]
