"""Every engine in the same four situations: it waits, it works, it is wedged, its server died."""

from __future__ import annotations

from collections.abc import Callable

from tests.scenarios.host import SERVERS, Host
from tests.scenarios.scenario import scenario

WORK = {"running": 16.0, "kv_used": 0.4, "tokens": 1200.0, "prompt": 3000.0, "finished": 3.0}


def waits(engine: str) -> Callable[[Host], None]:
    def story(host: Host) -> None:
        host.serves(engine)
        host.for_minutes(6)

    return story


def works(engine: str) -> Callable[[Host], None]:
    def story(host: Host) -> None:
        host.serves(engine, **WORK)
        host.gpu(0).in_bursts([88, 95, 97, 91], watts=520, memory_percent=55)
        host.for_minutes(6)

    return story


def is_wedged(engine: str) -> Callable[[Host], None]:
    def story(host: Host) -> None:
        page = host.serves(engine, **WORK)
        host.gpu(0).in_bursts([88, 95, 97, 91], watts=520, memory_percent=55)
        host.for_minutes(6)
        page.makes_nothing()
        host.gpu(0).rests()
        host.for_minutes(8)

    return story


def worker_stays(engine: str) -> Callable[[Host], None]:
    def story(host: Host) -> None:
        page = host.serves(engine)
        host.for_minutes(3)
        page.closes()
        host.ends(4200)
        host.changes(4201, parent=1)
        host.for_minutes(6)

    return story


_ALARMS = ("low-util-under-load", "cpu-bound-single-core")
for _engine, (_, _worker) in SERVERS.items():
    scenario(
        "kv-pool-reserved-idle",
        "ok",
        f"{_engine} has reserved its pool and waits.",
        name=f"idle {_engine}",
        never=("memory-held-idle", "orphaned-engine", "engine-metrics-unreachable"),
    )(waits(_engine))
    scenario(
        "healthy-busy",
        "ok",
        f"{_engine} works.",
        name=f"busy {_engine}",
        never=("low-util-under-load", "oom-risk", "serving-wedged"),
    )(works(_engine))
    scenario(
        "serving-wedged",
        "critical",
        f"{_engine}: requests run, and nothing comes out.",
        name=f"wedged {_engine}",
        also=_ALARMS,
    )(is_wedged(_engine))
    if _worker is not None:
        scenario(
            "orphaned-engine",
            "critical",
            f"{_engine}: the worker outlives its server.",
            name=f"orphan of {_engine}",
            also=("engine-metrics-unreachable", "memory-held-idle"),
        )(worker_stays(_engine))
