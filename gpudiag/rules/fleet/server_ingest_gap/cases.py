"""Situations of server-ingest-gap and its look-alikes."""

from gpudiag.fleet import Fleet
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation


def _fleet(silent: int, nodes: int = 6, apart: float = 5.0, age: float = 200.0, catch_up: int = 0) -> Fleet:
    situations = [Situation(node=f"node-{i}").passes(minutes=6) for i in range(nodes)]
    end = situations[0].now + 300
    for i, s in enumerate(situations):
        s.window.received_at = end - age - apart * i if i < silent else end - 4
    names = [s.window.node for s in situations]
    windows = dict(zip(names, (s.window for s in situations), strict=True))
    return Fleet(windows=windows, now=end, catch_up=frozenset(names[:catch_up]))


def _server_began(seconds_ago: float) -> Fleet:
    fleet = _fleet(silent=6)
    for window in fleet.windows.values():
        window.unheard_since = fleet.now - seconds_ago
    return fleet


CASES = [
    Case("five of six went silent together", lambda: _fleet(silent=5), "fires", gpu=None, severity="warning"),
    Case(
        "three reports are missed by five of six: none of them is stale yet",
        lambda: _fleet(silent=5, apart=1.0, age=35.0),
        "fires",
        gpu=None,
    ),
    Case("one report is late from all", lambda: _fleet(silent=6, apart=1.0, age=18.0), "clear"),
    Case("one of six", lambda: _fleet(silent=1), "clear"),
    Case("four of six, hours apart", lambda: _fleet(silent=4, apart=4000.0), "clear"),
    Case("both of two nodes", lambda: _fleet(silent=2, nodes=2), "clear"),
    Case("all send what they kept while the server was away", lambda: _fleet(silent=6, catch_up=6), "clear"),
    Case("one catches up, four are silent", lambda: _fleet(silent=5, catch_up=1), "fires", gpu=None),
    Case("the server was away and began to listen 10 s ago", lambda: _server_began(10), "unjudged", gpu=None),
    Case("none came back since the server began to listen", lambda: _server_began(60), "fires", gpu=None),
    Case("all report", lambda: _fleet(silent=0), "clear"),
]
