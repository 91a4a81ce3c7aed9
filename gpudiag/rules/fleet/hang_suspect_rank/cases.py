"""Situations of hang-suspect-rank and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.model import Finding
from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation


def _fleet(
    stuck: int, utilization: float = 0.0, state: str = "S", nodes: int = 4, lost: bool = False
) -> Fleet:
    windows, findings = {}, {}
    for i in range(nodes):
        s = Situation(node=f"node-{i}")
        s.gpu(0).shows(utilization_percent=100.0 if i < stuck else utilization, power_watts=120.0)
        s.runs(
            {0: 60 * GIB},
            pid=5000 + i,
            name="python3",
            command="torchrun train.py",
            slurm_job="42",
            state="S" if i < stuck else state,
        )
        if lost and i >= stuck:
            s.gpu(0).shows(error="gpu_is_lost", utilization_percent=None)
        windows[s.window.node] = s.passes(minutes=6).window
        if i < stuck:
            findings[s.window.node] = [
                Finding(rule="stuck-job", severity="critical", confidence="likely", gpu=0)
            ]
    return Fleet(windows=windows, now=next(iter(windows.values())).time, findings=findings)


CASES = [
    Case("three spin, one is quiet", lambda: _fleet(stuck=3), "fires", gpu=None, severity="critical"),
    Case(
        "three spin, one is a zombie",
        lambda: _fleet(stuck=3, utilization=50.0, state="Z"),
        "fires",
        variant="state",
    ),
    Case("all stopped together: look at the network", lambda: _fleet(stuck=4), "clear"),
    Case("two differ", lambda: _fleet(stuck=2), "clear"),
    Case("the other one works", lambda: _fleet(stuck=3, utilization=70.0), "clear"),
    Case("nothing hangs", lambda: _fleet(stuck=0), "clear"),
    Case("three spin, one GPU is lost", lambda: _fleet(stuck=3, lost=True), "fires", variant="lost"),
]
