"""Situations of ib-link-problem and its look-alikes."""

from typing import Any

from gpudiag.model import NetworkPort
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _port(index: int, **values: Any) -> NetworkPort:
    usual = {"state": "active", "rate_gigabits_per_second": 400.0, "link_downed_total": 0}
    return NetworkPort(name=f"mlx5_{index}:1", kind="infiniband", **{**usual, **values})


def _then(before: list[NetworkPort] | None, after: list[NetworkPort] | None) -> Window:
    s = Situation(gpus=2)
    s.machine(ports=before)
    s.passes(minutes=1)
    s.machine(ports=after)
    return s.passes(minutes=1).window


def _four(**first: Any) -> list[NetworkPort]:
    return [_port(0, **first), *(_port(i) for i in range(1, 4))]


def _unreadable() -> Window:
    s = Situation(gpus=2)
    s.misses("host", "ports", "no_permission")
    return s.passes(minutes=1).window


CASES = [
    Case(
        "one of four ports went down",
        lambda: _then(_four(), _four(state="down")),
        "fires",
        severity="warning",
        confidence="proven",
        gpu=None,
    ),
    Case(
        "the only port went down",
        lambda: _then([_port(0)], [_port(0, state="down")]),
        "fires",
        severity="critical",
        gpu=None,
    ),
    Case(
        "half the speed of its siblings",
        lambda: _then(_four(), _four(rate_gigabits_per_second=200.0)),
        "fires",
        variant="slow",
        gpu=None,
    ),
    Case(
        "down and up again and again",
        lambda: _then(_four(), _four(link_downed_total=3)),
        "fires",
        variant="flapping",
        gpu=None,
    ),
    Case(
        "a port that was never up is not used",
        lambda: _then(_four(state="down"), _four(state="down")),
        "clear",
        gpu=None,
    ),
    Case("all ports up", lambda: _then(_four(), _four()), "clear", gpu=None),
    Case("a node without such ports", lambda: _then(None, None), "clear", gpu=None),
    Case("the ports cannot be read", _unreadable, "unjudged", gpu=None),
]
