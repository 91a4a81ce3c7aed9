"""A serving engine runs, but its metrics page does not answer."""

from collections.abc import Iterator

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.rules.engines import follows, gpus_of, only_gpu, reached_at
from gpudiag.window import EngineWindow, ProcessWindow, Window


@rule(severity="warning", rank=HINT)
def engine_metrics_unreachable(
    node: Window, *, min_age_seconds: float = 600.0, min_failures: int = 3
) -> Iterator[Fires]:
    """A serving process is alive but its metrics do not answer."""
    if node.pasted:
        return
    known = set()
    for engine in node.engines.values():
        known |= engine.pids
        if follows(node, engine):
            continue
        if not engine.reading.metrics_ok and not _young(node, engine.reading.pid, min_age_seconds):
            span = node.span_of(min_failures)
            failures = engine.over("answered", span) if engine.reading.metrics_ok is False else None
            if failures is not None and failures.n >= min_failures and failures.max == 0:
                yield _fires(node, engine, span)
    for process in node.processes.values():
        if _is_unknown_server(process, known) and not _young(node, process.reading.pid, min_age_seconds):
            yield Fires(
                (measured("process", process.reading.name or "-", source="/proc"),),
                severity="info",
                variant="not-found",
                key=f"pid:{process.reading.pid}:{process.reading.started_at or 0:.0f}",
                words={"engine": process.workload.engine or "-", "pid": str(process.reading.pid)},
            )


def _is_unknown_server(process: ProcessWindow, known: set[int | None]) -> bool:
    workload, reading = process.workload, process.reading
    if workload.kind != "engine" or workload.role != "server" or workload.engine == "other":
        return False
    return reading.pid not in known and bool(reading.gpus) and reading.in_nvml is not False


def _young(node: Window, pid: int | None, min_age: float) -> bool:
    """It started a short while ago and may still be loading."""
    process = next((p for p in node.processes.values() if p.reading.pid == pid), None)
    started = process.reading.started_at if process else None
    return started is not None and node.time - started < min_age


def _fires(node: Window, engine: EngineWindow, span: float) -> Fires:
    reading = engine.reading
    reason = node.gap(f"engine:{reading.name}", "metrics")
    off = reason == "not_enabled"
    evidence = [measured("answered", False, window=span, source=reading.name)]
    if reading.port_open is not None:
        evidence.append(measured("port_open", reading.port_open, source=reading.name))
    if reading.health_ok is not None:
        evidence.append(measured("health", reading.health_ok, source=reading.name))
    return Fires(
        tuple(evidence),
        severity="info" if off else "warning",
        variant="not-enabled" if off else None,
        also_explains=() if off else ("memory-held-idle",),
        key=reading.name,
        gpu=only_gpu(engine),
        words={
            "engine": reading.name,
            **reached_at(engine),
            "pid": str(reading.pid or "-"),
            "gpus": gpus_of(node, engine),  # a finding of one of them accounts for this one
        },
    )
