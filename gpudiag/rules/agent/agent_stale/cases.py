"""Situations of agent-stale and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import Situation, vllm_busy
from gpudiag.window import Window


def _silent(seconds: float, busy: bool = False) -> Case:
    s = vllm_busy() if busy else Situation().passes(minutes=6)
    return Case(
        f"silent for {seconds:.0f} s" + (", and it was busy" if busy else ""),
        lambda: s.window,
        "fires" if seconds > 45 else "clear",
        gpu=None,
        severity="critical" if busy and seconds > 300 else None,
        now=s.now + seconds,
    )


def _maintained() -> Window:
    s = vllm_busy()
    s.window.maintenance_until = s.now + 7200
    return s.window


def _server_began(seconds_ago: float, now: float) -> Window:
    s = Situation().passes(minutes=6)
    s.window.unheard_since = now - seconds_ago
    return s.window


AT = Situation().passes(minutes=6).now

CASES = [
    _silent(1200),
    _silent(90),
    _silent(600, busy=True),
    _silent(20),
    Case(
        "silent for 600 s in planned maintenance",
        _maintained,
        "fires",
        gpu=None,
        severity="unknown",
        now=vllm_busy().now + 600,
    ),
    Case("reports in planned maintenance", _maintained, "clear", now=vllm_busy().now + 10),
    Case(
        "the server itself was away, and has just begun to listen",
        lambda: _server_began(10, AT + 1800),
        "unjudged",
        gpu=None,
        now=AT + 1800,
    ),
    Case(
        "nothing came since the server began to listen a minute ago",
        lambda: _server_began(60, AT + 1800),
        "fires",
        gpu=None,
        now=AT + 1800,
    ),
    Case("pasted text has no next report", lambda: pasted(), "clear", now=AT + 600),
]
