"""Situations of nvlink-down and its look-alikes."""

from gpudiag.model import NvLink
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def links(up: int, of: int = 18) -> list[NvLink]:
    return [NvLink(link=i, active=i < up) for i in range(of)]


def _node(*up: int, after: int | None = None, booted: float = 86_400, minutes: float = 4) -> Window:
    s = Situation(gpus=len(up))
    s.machine(booted_at=s.now - booted)
    for index, count in enumerate(up):
        s.gpu(index).shows(nvlinks=links(count), fabric_state="completed")
    s.passes(minutes=2)
    if after is not None:
        s.gpu(0).shows(nvlinks=links(after))
    return s.passes(minutes=minutes).window


def _unknown() -> Window:
    s = Situation()
    s.gpu(0).shows(fabric_state="completed")
    s.misses("gpu:0", "nvlinks", "unknown_error")
    return s.passes(minutes=2).window


def _pasted(up: int, of: int) -> Window:
    return pasted(name="NVIDIA H100 80GB HBM3", nvlinks=links(up, of))


CASES = [
    Case(
        "two links went down in the middle of a day",
        lambda: _node(18, 18, 18, 18, after=16),
        "fires",
        severity="critical",
        confidence="proven",
    ),
    Case(
        "fewer than all its siblings since we look",
        lambda: _node(12, 18, 18, 18),
        "fires",
        severity="critical",
        confidence="likely",
    ),
    Case(
        "links come up one by one after boot",
        lambda: _node(12, 18, 18, 18, booted=120),
        "fires",
        severity="info",
        variant="starting",
    ),
    Case("a pasted link is down, and no other GPU to compare with", lambda: _pasted(17, 18), "fires",
         severity="warning", confidence="possible", variant="partly"),
    Case("a pasted text says that no link is up", lambda: _pasted(0, 1), "fires",
         severity="warning", confidence="possible", variant="none"),
    Case("all pasted links are up", lambda: _pasted(18, 18), "clear"),
    Case("down for half a minute so far", lambda: _node(18, 18, 18, 18, after=16, minutes=0.5), "clear"),
    Case("all links up", lambda: _node(18, 18, 18, 18), "clear"),
    Case("cards without a bridge have no links", lambda: _node(0, 0, 0, 0), "clear"),
    Case("pairs over a bridge", lambda: _node(0, 0, 4, 4), "clear"),
    Case("a GPU without NVLink", lambda: Situation().passes(minutes=2).window, "clear"),
    Case("the links cannot be read", _unknown, "unjudged"),
]  # fmt: skip
