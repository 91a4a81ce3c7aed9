"""Situations of common-cause and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.model import Finding
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation


def _fleet(
    hot: int, apart: float = 20.0, nodes: int = 8, severity: str = "warning", racks: bool = True
) -> Fleet:
    windows, findings = {}, {}
    for i in range(nodes):
        s = Situation(node=f"node-{i}")
        if racks:
            s.extra["labels"] = {"rack": "r1" if i < 4 else "r2"}
        windows[s.window.node] = s.passes(minutes=1).window
        if i < hot:
            findings[s.window.node] = [
                Finding(rule="power-brake", severity=severity, confidence="proven", since=s.now + apart * i)  # type: ignore[arg-type]
            ]
    return Fleet(windows=windows, now=next(iter(windows.values())).time, findings=findings)


CASES = [
    Case("four nodes of one rack within a minute", lambda: _fleet(hot=4), "fires", gpu=None, severity="info"),
    Case("two nodes are a coincidence", lambda: _fleet(hot=2), "clear"),
    Case("four, hours apart", lambda: _fleet(hot=4, apart=7200.0), "clear"),
    Case("many are well at the same time", lambda: _fleet(hot=4, severity="ok"), "clear"),
    Case("three of twenty", lambda: _fleet(hot=3, nodes=20, racks=False), "clear"),
    Case("nothing is open", lambda: _fleet(hot=0), "clear"),
]
