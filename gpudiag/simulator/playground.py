"""One simulated node that people load and unload by hand: model, reservation, requests.

The arithmetic is the calculator's (`gpudiag.kv`); what is simulated beside it is only what a calculator
cannot know: the utilization. A set-up that does not fit is shown with all its parts, beyond the card's edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from gpudiag.examine import Ruleset, examine
from gpudiag.explain import explain
from gpudiag.kv import KvError, Question, calculate
from gpudiag.model import EngineReading, LedgerPart, MemoryLedger, ProcessReading
from gpudiag.simulator import programs
from gpudiag.simulator.cards import Card
from gpudiag.simulator.machine import INTERVAL, Machine, Pulse
from gpudiag.window import Window
from gpudiag.words import Language

BUSY_PERCENT = 92.0  # an example of load, nothing that could be calculated
MOST_REQUESTS = 100_000
BEGAN = 1_764_400_000  # an arbitrary moment: the playground has no clock
PLAYED_SECONDS = 360  # what the rules see of a state: a little more than their five minutes
SHOWN_SECONDS = 60

# Engines of the playground: those that reserve a pool, and what their workers are called.
WORKERS = {
    "vllm": "VLLM::EngineCore",
    "sglang": "sglang::scheduler",
    "tensorrt-llm": "trtllm-serve",
    "tgi": "text-generation-server",
    "lmdeploy": "lmdeploy serve",
}


@dataclass(frozen=True, slots=True)
class Play:
    """A state of the playground; it opens loaded and reserved, with nobody asking."""

    model: str = "llama-2-7b"
    gpu: str = "RTX-4090"
    engine: str = "vllm"
    gpu_memory_utilization: float = 0.92
    loaded: bool = True
    reserved: bool = True
    requests: int = 8  # as many as one press of the button sends
    tokens: int = 1024
    sent: int = 0  # in the engine now

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Play:
        """A state from a link's query; raises KvError that names the option and what it takes."""
        known = [field.name for field in fields(cls)]
        odd = next((name for name in values if name not in known), None)
        if odd is not None:
            raise KvError("refused-play", name=odd, known=", ".join(known))
        question = Question.from_mapping(
            {
                name: values.get(name) or getattr(DEFAULT, name)
                for name in ("model", "gpu", "engine", "gpu_memory_utilization", "requests", "tokens")
            }
        )
        if question.gpus is not None:
            raise KvError("refused-play-gpus", gpu=values.get("gpu"))
        engine = question.engine or DEFAULT.engine
        if engine not in WORKERS:
            raise KvError("refused-no-pool", engine=engine, known=", ".join(WORKERS))
        return cls(
            model=question.model or DEFAULT.model,
            gpu=str(question.gpu),
            engine=engine,
            gpu_memory_utilization=question.gpu_memory_utilization or DEFAULT.gpu_memory_utilization,
            loaded=_switch(values, "loaded"),
            reserved=_switch(values, "reserved"),
            requests=min(question.requests, MOST_REQUESTS),
            tokens=question.tokens or DEFAULT.tokens,
            sent=_sent(values),
        )

    def as_query(self, **changes: Any) -> dict[str, str]:
        """The state as a link's query, with `changes`."""
        changed = replace(self, **changes)
        named = {field.name: getattr(changed, field.name) for field in fields(changed)}
        return {name: str(int(v)) if isinstance(v, bool) else f"{v}" for name, v in named.items()}


DEFAULT = Play()


def _switch(values: Mapping[str, Any], name: str) -> bool:
    given = values.get(name)
    if given in (None, ""):
        return bool(getattr(DEFAULT, name))
    return str(given).lower() not in ("0", "false", "off", "no")


def _sent(values: Mapping[str, Any]) -> int:
    given = values.get("sent")
    if given in (None, "", "0", 0):
        return 0
    return min(MOST_REQUESTS, Question.from_mapping({"model": "x", "requests": given}).requests)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a state comes to. `answer` is the calculator's JSON; `over_bytes` what exceeds card or budget."""

    play: Play
    answer: dict[str, Any]
    ledger: MemoryLedger
    running: int
    waiting: int
    fits: bool
    over_bytes: int

    @property
    def utilization_percent(self) -> float:
        return BUSY_PERCENT if self.running and self.fits else 0.0


def scene_of(play: Play, language: Language = "en") -> Scene:
    """Calculate a state. Raises KvError with one sentence for what cannot be calculated."""
    answer = _calculated(play, max(1, play.sent), language)
    budget = answer["budget"]
    total = budget["total_bytes"]
    if total is None:
        raise KvError("refused-no-gpu")
    parts, running, waiting, fits, over = _nothing() if not play.loaded else _loaded(play, answer)
    held = sum(part.bytes for part in parts)
    ledger = MemoryLedger(
        total_bytes=total,
        used_bytes=held,
        free_bytes=max(0, total - held),
        parts=parts,
        over_capacity_bytes=max(0, held - total),
    )
    return Scene(play, answer, ledger, running, waiting, fits, over)


def _calculated(play: Play, requests: int, language: Language) -> dict[str, Any]:
    return calculate(
        Question.from_mapping(
            {
                "model": play.model,
                "gpu": play.gpu,
                "engine": play.engine,
                "gpu_memory_utilization": play.gpu_memory_utilization,
                "tokens": play.tokens,
                "requests": requests,
            }
        )
    ).as_json(language)


Parts = tuple[list[LedgerPart], int, int, bool, int]


def _nothing() -> Parts:
    return [], 0, 0, True, 0


def _loaded(play: Play, answer: dict[str, Any]) -> Parts:
    budget, owner = answer["budget"], play.engine
    runtime = sum(budget[name] or 0 for name in ("non_torch_bytes", "activation_bytes", "cuda_graph_bytes"))
    parts = [
        LedgerPart(part="weights", bytes=answer["weights_bytes"], kind="calculated", owner=answer["model"]),
        LedgerPart(part="runtime", bytes=runtime, kind="inferred", owner=owner),
    ]
    base = answer["weights_bytes"] + runtime
    if play.reserved:
        return _reserved(play, answer, parts, base)
    need = play.sent * answer["bytes_per_request"]
    if need:
        parts.append(LedgerPart(part="kv_pool", bytes=need, kind="calculated", filled_bytes=need))
    over = max(0, base + need - budget["total_bytes"])
    return parts, play.sent, 0, over == 0, over


def _reserved(play: Play, answer: dict[str, Any], parts: list[LedgerPart], base: int) -> Parts:
    """The pool takes what the budget leaves; requests fill it inside, and those without room wait."""
    pool, most = answer["budget"]["pool_bytes"] or 0, answer["largest_batch"] or 0
    if pool <= 0 or most == 0:
        wanted = max(1, play.sent) * answer["bytes_per_request"]
        parts.append(LedgerPart(part="kv_pool", bytes=wanted, kind="calculated", filled_bytes=0))
        return parts, 0, 0, False, wanted - pool
    running = min(play.sent, most)
    filled = min(pool, running * answer["bytes_per_request"])
    parts.append(LedgerPart(part="kv_pool", bytes=pool, kind="inferred", filled_bytes=filled))
    return parts, running, play.sent - running, True, 0


# ------------------------------------------------------------------------- as an agent would see it


class PlayedMachine(Machine):
    """The node of a scene, which stays as it is. A set-up that does not fit is a card without its engine."""

    name = "playground"
    gpus = 1
    server_pid, worker_pid = 4100, 4121

    def __init__(self, scene: Scene) -> None:
        super().__init__(BEGAN)
        self.scene = scene
        total = scene.ledger.total_bytes or 0
        self.card = Card(
            f"NVIDIA {scene.answer['gpu'] or 'GPU'}", "", total, 0, 24, 450, 210, 2520, 4, ecc=False
        )

    @property
    def stands(self) -> bool:
        return self.scene.play.loaded and self.scene.fits

    def pulse(self, gpu: int, at: int) -> Pulse:
        if not self.stands:
            return Pulse()
        load = self.scene.utilization_percent
        wobble = self.noise(at, "u", 3) if load else 0.0
        held = self.scene.ledger.used_bytes or 0
        return Pulse(
            load + wobble, min(held, self.card.total_bytes), 0.6 * load, pcie_rx=2e7 if load else 0.0
        )

    def processes(self, at: int) -> list[ProcessReading]:
        play, held = self.scene.play, self.scene.ledger.used_bytes or 0
        if not self.stands:
            return []
        if not play.reserved:
            command = f"python3 serve.py --model {play.model}"
            return [programs.python(self.worker_pid, BEGAN - 7200.0, command, {0: held}, state="S")]
        worker = WORKERS[play.engine]
        return [
            programs.server(self.server_pid, BEGAN - 7200.0, play.model, name=play.engine,
                            command=f"{play.engine} serve {play.model}"),
            programs.worker(self.worker_pid, BEGAN - 7200.0, {0: held}, self.server_pid, name=worker,
                            command=worker, parent_name=play.engine, parents=[play.engine, "systemd"]),
        ]  # fmt: skip

    def engines(self, at: int) -> list[EngineReading]:
        scene = self.scene
        if not self.stands or not scene.play.reserved:
            return []
        parts = {part.part: part for part in scene.ledger.parts}
        pool = parts["kv_pool"]
        seconds = (at - BEGAN) if scene.running else 0
        return [
            programs.engine(
                scene.play.model, self.server_pid, self.worker_pid, [0],
                name=f"{scene.play.engine}:8000",
                engine=scene.play.engine,
                gpu_memory_utilization=scene.play.gpu_memory_utilization,
                weights_bytes=scene.answer["weights_bytes"],
                pool_bytes=pool.bytes,
                pool_tokens=scene.answer["budget"]["pool_tokens"],
                requests_running=float(scene.running),
                requests_waiting=float(scene.waiting),
                kv_used_ratio=(pool.filled_bytes or 0) / pool.bytes,
                prompt_tokens_total=1e6 + 900.0 * seconds,
                generation_tokens_total=1e6 + 40.0 * scene.running * seconds,
                requests_finished_total=1e4 + 0.1 * scene.running * seconds,
            )
        ]  # fmt: skip

    def window(self) -> Window:
        """The last minutes of this state."""
        window = Window(self.name)
        for at in range(BEGAN + INTERVAL, BEGAN + PLAYED_SECONDS + 1, INTERVAL):
            snapshot = self.snapshot(at)
            if snapshot is not None:
                window.add(snapshot)
        return window

    def shown(self) -> list[tuple[float, float]]:
        """(utilization percent, share of the memory used in percent) of a minute, second by second."""
        pulses = [
            self.pulse(0, BEGAN + PLAYED_SECONDS - SHOWN_SECONDS + second) for second in range(SHOWN_SECONDS)
        ]
        total = self.card.total_bytes or 1
        return [
            (
                round(min(100.0, max(0.0, p.utilization_percent)), 1),
                round(100 * p.memory_used_bytes / total, 2),
            )
            for p in pulses
        ]


def verdict_of(scene: Scene, rules: Ruleset, language: Language) -> dict[str, Any]:
    """What gpudiag says of a scene: the diagnosis of its snapshots by the real rules."""
    diagnosis = explain(examine(PlayedMachine(scene).window(), rules), language, rules)
    findings = [*diagnosis.findings, *(f for gpu in diagnosis.gpus for f in gpu["findings"])]
    head = next((f for f in findings if f["rule"] == diagnosis.verdict["rule"]), None)
    return {**diagnosis.verdict, "means": head["means"] if head else ""}
