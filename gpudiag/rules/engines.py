"""What several families ask of inference engines: can they be read, do they live, does anybody ask?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from gpudiag.rule import Fires
from gpudiag.window import W5, EngineWindow, NotMeasured, ProcessWindow, Window
from gpudiag.workloads import COUNT_AT_END


def readable(node: Window) -> list[EngineWindow]:
    """Engines whose metrics were read just now; raises NotMeasured when engines run and none can be read."""
    read = [engine for engine in node.engines.values() if engine.reading.metrics_ok]
    if not read and not node.pasted and (node.engines or any(map(serves, node.processes.values()))):
        raise NotMeasured("engine", reason="unreachable" if node.engines else None)
    return read


S = TypeVar("S")


def each(subjects: Iterable[S], judge: Callable[[S], Fires | Iterable[Fires] | None]) -> list[Fires]:
    """What `judge` says of each; one that cannot be told hides none of the others.

    Raises NotMeasured when nothing fires and something could not be told.
    """
    found: list[Fires] = []
    absent: NotMeasured | None = None
    for subject in subjects:
        try:
            outcome = judge(subject)
            if outcome is not None:
                found += [outcome] if isinstance(outcome, Fires) else list(outcome)
        except NotMeasured as missing:
            absent = absent or missing.with_traceback(None)
    if absent is not None and not found:
        raise absent
    return found


def serves(process: ProcessWindow) -> bool:
    """Whether a process belongs to an inference engine and uses a GPU."""
    return process.workload.kind == "engine" and bool(process.reading.gpus)


def alive(engine: EngineWindow) -> bool:
    """The server runs above its workers and answers: a listening socket alone proves nothing.

    One whose health check says no is not well, though its numbers can be read. The parent of ray's workers
    is ray, which outlives the server: there only the answer decides.
    """
    reading = engine.reading
    parent = reading.parent_alive is True or (reading.parent_alive is None and reading.workers_by == "ray")
    return parent and answers_well(engine)


def answers_well(engine: EngineWindow) -> bool:
    """Its health check says yes, or it has none and its metrics are there."""
    reading = engine.reading
    return bool(reading.metrics_ok) if reading.health_ok is None else reading.health_ok


def asked(engine: EngineWindow, span: float = W5, max_kv_used_ratio: float = 0.05) -> bool:
    """Somebody asked within the span: requests, moving tokens, or a pool in use. Raises NotMeasured."""
    busy = engine.share("loaded", W5) if span <= W5 else engine.over("requests_running", span).max
    if busy > 0:
        return True
    used = engine.reading.kv_used_ratio
    if engine.reading.requests_running is None and used is not None and used > max_kv_used_ratio:
        return True  # where requests are counted, what is used without any is kept for the next
    counted = engine.reading.generation_tokens_total is not None
    return counted and engine.covers(span) and engine.rise("generation_tokens_total", span) > 0


def follows(node: Window, engine: EngineWindow) -> bool:
    """Whether it works for a server on another node, which takes the requests: it has no page to read."""
    server = next((p for p in node.processes.values() if p.reading.pid == engine.reading.pid), None)
    return server is not None and bool(_FOLLOWER.search(server.reading.command or ""))


_FOLLOWER = re.compile(r"\s--headless\b|\s--node[-_]rank[ =]0*[1-9]")


def counts_late(engine: EngineWindow) -> bool:
    """Whether it counts tokens as a request ends, and nothing shows the steps in between."""
    return engine.reading.engine in COUNT_AT_END and engine.reading.steps_total is None


def gets_on(engine: EngineWindow) -> bool:
    """Whether it made steps that its tokens do not tell of yet: the model ran, or its cache filled."""
    if engine.reading.steps_total is not None:
        return engine.covers(W5) and engine.rise("steps_total", W5) > 0
    if engine.reading.kv_used_ratio is None or not counts_late(engine):
        return False
    used = engine.over("kv_used_ratio", W5)
    return used.max > used.min


def held_seconds(engine: EngineWindow, now: float) -> float:
    """For how long a request has held a model of Ollama beyond the moment at which it would be unloaded."""
    unloads_at = engine.reading.unloads_at
    return 0.0 if unloads_at is None or not engine.reading.metrics_ok else max(0.0, now - unloads_at)


def reached_at(engine: EngineWindow | None) -> dict[str, str]:
    """Where a person on the node asks the server, for a page's commands: vLLM's port where it is not known.

    It comes from the machine: a command is only made of an address that a shell takes as it is.
    """
    address = (engine.reading.address if engine else None) or ""
    return {"address": address.rstrip("/") if _ADDRESS.fullmatch(address) else "localhost:8000"}


_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[\w./-]*)?", re.ASCII)


def gpus_of(node: Window, engine: EngineWindow) -> list[int]:
    """The GPUs of an engine: those that it names, and those of its processes."""
    pids = engine.pids
    held = {gpu for process in node.processes.values() if process.reading.pid in pids for gpu in process.gpus}
    return sorted(held.union(engine.reading.gpus or ()))


def only_gpu(engine: EngineWindow) -> int | None:
    """The GPU to blame when the engine has just one; an engine on several is the node's."""
    gpus = engine.reading.gpus or []
    return gpus[0] if len(gpus) == 1 else None
