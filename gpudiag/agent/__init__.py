"""The per-host agent: samples once a second, reports every ten, and survives what it watches.

`loop.py` ties it together. `nvml/` is the only part that imports pynvml; `worker.py` calls it, and
`sampler.py` keeps a hanging driver away from the rest; `processes.py` (and `activity.py`, what each one
does), `holders.py`, `host.py`, `kernel_log.py` and `servers.py` see what is around the GPUs; `reporter.py`
sends in order, and `spool.py` keeps what cannot be sent. `local.py` is the door by which people on the host
ask it. It imports model, client and engines, and judges nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from gpudiag.agent.clock import Clock, RealClock, ScaledClock
from gpudiag.agent.local import NoAgent, NotAllowed, ask
from gpudiag.agent.loop import Agent, Observer
from gpudiag.agent.sampler import GIVE_UP_SECONDS
from gpudiag.agent.servers import DeclaredServer
from gpudiag.model import Snapshot

__all__ = [
    "Agent",
    "Clock",
    "DeclaredServer",
    "NoAgent",
    "NotAllowed",
    "Observer",
    "RealClock",
    "ScaledClock",
    "history",
    "observe",
    "release",
    "watch",
]

SLOW_SECONDS = 20.0  # longer that `observe` looks where the driver is slow
_FIRST = ("nvml", "memory_used_bytes", "memory_total_bytes", "processes")


def history(seconds: float = 3600.0) -> list[Snapshot]:
    """What an agent that runs on this host has seen, the oldest first; raises NoAgent where none runs."""
    return msgspec.json.decode(ask({"ask": "history", "seconds": seconds}), type=list[Snapshot])


def release(seconds: float = 600.0) -> dict[str, Any]:
    """Has the agent on this host let go of the GPUs for so long; raises NoAgent or NotAllowed."""
    return msgspec.json.decode(ask({"ask": "release", "seconds": seconds}))


def observe(
    observer: Observer, seconds: float, progress: Callable[[float], None] = lambda share: None
) -> Iterator[Snapshot]:
    """Snapshots of this host for so long, as they come; `progress` gets the share done (0 to 1)."""
    observer.start()
    try:
        begun, never = observer.clock.monotonic(), threading.Event()
        for number in range(1, max(1, round(seconds / observer.interval)) + 1):
            due = begun + number * min(observer.interval, seconds)
            while (left := due - observer.clock.monotonic()) > 0:
                observer.wait(never, min(0.5, left))
                progress(min(1.0, (observer.clock.monotonic() - begun) / seconds))
            snapshot = observer.snapshot()
            yield snapshot
        progress(1.0)  # also where the last one was due already when the one before it came
        while _is_behind(snapshot) and observer.clock.monotonic() - begun < seconds + SLOW_SECONDS:
            observer.wait(never, observer.interval)
            snapshot = observer.snapshot()
            yield snapshot
        silent = snapshot.nvml.silent_seconds if snapshot.nvml else None
        if silent is not None and silent <= GIVE_UP_SECONDS:  # long enough to be told from a slow call
            observer.wait(never, GIVE_UP_SECONDS + 0.5 - silent)
            yield observer.snapshot()
    finally:
        observer.stop()


def _is_behind(snapshot: Snapshot) -> bool:
    """Whether a driver that answers, but slowly, has not told yet who holds how much memory."""
    late = any(gap.reason == "timeout" and gap.metric in _FIRST for gap in snapshot.gaps)
    return late and snapshot.nvml is not None and snapshot.nvml.silent_seconds is None


def watch(
    seconds: float = 10.0,
    progress: Callable[[float], None] = lambda share: None,
    observer: Observer | None = None,
    interval: float = 2.0,
) -> list[Snapshot]:
    """Looks at this host for so long, without any server; what `gpudiag why` does where no agent runs."""
    return list(observe(observer or Observer(source="local", interval=interval), seconds, progress))
