"""Questions that need several nodes' diagnoses: bounded, in parallel, honest about what is missing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from bot.answers.asking import Asking
from bot.answers.fleet import all_nodes
from bot.questions import Json
from gpudiag.errors import GpudiagError

MOST_NODES = 256
DEADLINE_SECONDS = 4.0
ASKERS = ThreadPoolExecutor(8, thread_name_prefix="scan")


@dataclass(frozen=True)
class Found:
    """Where a process was seen."""

    node: str
    gpu: int | None
    process: Json


@dataclass(frozen=True)
class Scan:
    """Diagnoses of the fleet, and how many nodes could not be looked at."""

    nodes: int
    diagnoses: tuple[Json, ...]

    @property
    def missed(self) -> int:
        return self.nodes - len(self.diagnoses)

    def sentence(self, asking: Asking) -> str:
        return asking.say("looked", seen=len(self.diagnoses), count=self.nodes, missed=self.missed)


def scan(asking: Asking) -> Scan:
    """Ask about every node (the worst 256), at most four seconds long."""
    names = [str(node["node"]) for node in all_nodes(asking)]
    until = time.monotonic() + DEADLINE_SECONDS
    asked = [ASKERS.submit(one, asking, name, until) for name in names[:MOST_NODES]]
    wait(asked, timeout=DEADLINE_SECONDS)
    answers = [job.result() for job in asked if job.done() and not job.cancelled()]
    for job in asked:
        job.cancel()
    return Scan(len(names), tuple(answer for answer in answers if answer))


def one(asking: Asking, name: str, until: float) -> Json | None:
    """None where the node could not be asked: it is counted as missed."""
    if time.monotonic() > until:
        return None
    try:
        return asking.api.diagnosis(name, lang=asking.lang)
    except GpudiagError:
        return None


def processes(diagnosis: Json) -> list[Found]:
    node = str(diagnosis["node"])
    return [
        Found(node, gpu.get("index"), process)
        for gpu in diagnosis.get("gpus") or []
        for process in gpu.get("processes") or []
    ]
