"""Situations of nvlink-errors and its look-alikes."""

from gpudiag.model import NvLink
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _rising(field: str, *totals: int, minutes: float = 5) -> Window:
    s = Situation()
    for total in totals:
        errors = {"crc_errors": 0, "replay_errors": 0, "recovery_errors": 0, field: total}
        s.gpu(0).shows(nvlinks=[NvLink(link=0, active=True, **errors)])
        s.passes(minutes=minutes)
    return s.window


def _uncounted() -> Window:
    s = Situation()
    s.gpu(0).shows(nvlinks=[NvLink(link=0, active=True)])
    return s.passes(minutes=2).window


def _pasted(recoveries: int) -> Window:
    return pasted(nvlinks=[NvLink(link=0, crc_errors=7, replay_errors=0, recovery_errors=recoveries)])


CASES = [
    Case(
        "recoveries every few minutes",
        lambda: _rising("recovery_errors", 0, 1, 3, 4, 6),
        "fires",
        severity="warning",
    ),
    Case("replays every few minutes", lambda: _rising("replay_errors", 0, 9, 30, 41, 60), "fires"),
    Case(
        "hundreds of CRC errors a second",
        lambda: _rising("crc_errors", 0, 90_000, minutes=4),
        "fires",
        variant="crc",
    ),
    Case(
        "recoveries in one pasted sample",
        lambda: _pasted(3),
        "fires",
        severity="info",
        variant="counted",
    ),
    Case("no errors in one pasted sample", lambda: _pasted(0), "clear"),
    Case("one recovery", lambda: _rising("recovery_errors", 0, 1, 1, 1), "clear"),
    Case("a few CRC errors are corrected", lambda: _rising("crc_errors", 0, 500, 900), "clear"),
    Case("errors from before we looked", lambda: _rising("recovery_errors", 800, 800, 800), "clear"),
    Case("a GPU without NVLink", lambda: Situation().passes(minutes=2).window, "clear"),
    Case("the counters cannot be read", _uncounted, "unjudged"),
]
