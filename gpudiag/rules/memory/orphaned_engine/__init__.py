"""A worker of a serving engine outlived its server and keeps the GPU for nobody."""

from collections.abc import Iterator
from typing import Any

from gpudiag.model import ProcessReading
from gpudiag.rule import STUCK, Fires, inferred, measured, rule
from gpudiag.rules.engines import reached_at
from gpudiag.rules.holders import whose
from gpudiag.window import EngineWindow, ProcessWindow, Window
from gpudiag.workloads import ADOPTERS, script_above


@rule(
    severity="critical",
    rank=STUCK,
    explains=(
        "kv-pool-reserved-idle",
        "weights-loaded-idle",
        "memory-held-idle",
        "held-by-idle-process",
        "engine-metrics-unreachable",
        "oom-risk",
        "tp-spin-without-requests",
    ),
)
def orphaned_engine(node: Window, *, min_bytes: int = 256 << 20) -> Iterator[Fires]:
    """A serving engine's worker lives on without its server."""
    for process in node.processes.values():
        if process.workload.kind != "engine" or process.workload.role != "worker":
            continue
        held = sum(use.memory_used_bytes or 0 for use in process.reading.gpus or ())
        if process.reading.gpus and held < min_bytes and not node.pasted:
            continue
        if _told(node) and process.reading.parent_pid is None and held >= min_bytes:
            yield _by_words(process, held)
            continue
        dead = _server_dead(node, process)
        if dead:
            gpus = [use.gpu for use in process.reading.gpus or ()]
            words = {**whose(process, alone=True), **reached_at(_engine(node, process))}
            yield _fires(process, held, gpus[0] if gpus else None, dead, words)


def _told(node: Window) -> bool:
    """Whether whoever pasted the text says that the server ended and the memory is still held."""
    paste = node.latest.paste if node.latest else None
    return bool(paste and {"ended", "still_held"} <= set(paste.hints or ()))


def _by_words(process: ProcessWindow, held: int) -> Fires:
    return Fires(
        (
            measured("process_memory_bytes", held, source="pasted text"),
            inferred("server_alive", False, source="pasted text"),
        ),
        severity="warning",
        confidence="possible",
        variant="told",
        key=f"pid:{process.reading.pid}",
        words={**whose(process, alone=True), **reached_at(None)},
        gpu=(process.reading.gpus or [])[0].gpu if process.reading.gpus else None,
    )


def _server_dead(node: Window, process: ProcessWindow) -> str | None:
    """Why the server is taken for dead: `parent`, `both`, or None while it may live."""
    reading = process.reading
    engine = _engine(node, process)
    if engine is not None and (engine.reading.health_ok or engine.reading.metrics_ok):
        return None
    serverless = engine is not None and engine.reading.parent_alive is False
    orphan = script_above(reading) is None and (_adopted(reading) or serverless)
    silent = engine is not None and engine.reading.health_ok is False and not engine.reading.port_open
    if "ray::" in (reading.command or reading.name or ""):
        # raylet outlives its driver, so a parent proves nothing: only a port that once answered does
        return "both" if silent and engine is not None and engine.reading.ever_answered else None
    if orphan:
        return "both" if silent or process.reading.wait_channel else "parent"
    return None


def _engine(node: Window, process: ProcessWindow) -> EngineWindow | None:
    """The engine that counts the process among its workers."""
    pid = process.reading.pid
    return next((e for e in node.engines.values() if pid in (e.reading.worker_pids or ())), None)


def _adopted(reading: ProcessReading) -> bool:
    """A worker's parent is its server; another adopter means that the server is gone."""
    if reading.parent_name is not None:
        return reading.parent_name.rsplit("/", 1)[-1] in ADOPTERS
    return reading.parent_pid == 1


def _fires(process: ProcessWindow, held: int, gpu: int | None, dead: str, words: dict[str, Any]) -> Fires:
    reading = process.reading
    evidence = [
        measured("parent", _parent(reading), source="/proc"),
        inferred("server_alive", False, source="/proc" if dead == "parent" else "/proc, health"),
    ]
    if held:
        evidence.insert(0, measured("process_memory_bytes", held))
    return Fires(
        tuple(evidence),
        confidence="proven" if dead == "both" else "likely",
        variant=None if held else "memory-unseen",
        key=f"pid:{reading.pid}:{reading.started_at or 0:.0f}",
        words=words,
        gpu=gpu,
    )


def _parent(reading: ProcessReading) -> str:
    pid = "-" if reading.parent_pid is None else str(reading.parent_pid)
    return f"{reading.parent_name} (pid {pid})" if reading.parent_name else f"pid {pid}"
