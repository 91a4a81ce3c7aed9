"""A server on loopback with a clock of our own, and nodes that report to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.app import create_app
from api.parts import parts_of
from api.server import Server
from gpudiag.client import Client
from gpudiag.model import Snapshot
from gpudiag.rules.situations import GIB, Situation, vllm_processes
from gpudiag.settings import load
from gpudiag.window import Window


class Clock:
    """The server's clock: stands still until told."""

    def __init__(self) -> None:
        self.now = float(int(time.time()))

    def __call__(self) -> float:
        return self.now


class _Caught(Window):
    """Takes what a situation reports, before it is folded in."""

    def __init__(self, node: str, taken: list[bytes]) -> None:
        super().__init__(node)
        self._taken = taken

    def add(self, snapshot: Snapshot, received_at: float | None = None) -> None:
        self._taken.append(msgspec.json.encode(snapshot))


class ReportingNode(Situation):
    """A node whose agent reports every snapshot as it is taken; the server's clock goes with it."""

    def __init__(self, name: str, api: Api, gpus: int = 1) -> None:
        super().__init__(name, gpus=gpus, start=api.clock.now)
        self.name, self.api = name, api
        self.taken: list[bytes] = []
        self.window = _Caught(name, self.taken)
        self.agent.start_id = f"start-of-{name}"

    def reports(self) -> ReportingNode:
        super().reports()
        self.api.clock.now = max(self.api.clock.now, self.now)
        self.api.send(self.taken[-1])
        return self

    def unsent(self, minutes: float = 0.0, seconds: float = 0.0) -> list[bytes]:
        """Snapshots that were taken while the API was away."""
        first = len(self.taken)
        for _ in range(round((60 * minutes + seconds) / 10.0)):
            Situation.reports(self)
        return self.taken[first:]

    def serves_idle_vllm(self) -> ReportingNode:
        self.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB, power_watts=71.0)
        vllm_processes(self)
        self.serves("vllm", pid=4100, worker_pids=[4121], gpus=list(self.gpus), model="llama-3-8b",
                    pool_bytes=55 * GIB, pool_tokens=450_000, gpu_memory_utilization=0.92)  # fmt: skip
        return self

    def loses_its_gpu(self) -> ReportingNode:
        """GPU 0 falls off the bus."""
        self.gpu(0).shows(error="gpu_is_lost", utilization_percent=None, memory_used_bytes=None)
        self.logs("xid", "NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.", number=79,
                  bus_id="0000:19:00.0")  # fmt: skip
        return self


@dataclass
class Api:
    """A running API and its client."""

    store: str
    clock: Clock = field(default_factory=Clock)
    options: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def start(self) -> Api:
        settings = load(self.options.get("config"), environ={}, given={"serve": {"store": self.store}})
        more = {name: value for name, value in self.options.items() if name != "config"}
        app = create_app(settings, clock=self.clock, **more)
        self.server = Server(app, port=0).start()
        self.client = Client(self.server.url)
        return self

    def stop(self) -> None:
        if self.server is not None:
            self.client.close()
            self.server.stop()
            self.server = None

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    @property
    def parts(self) -> Any:
        assert self.server is not None
        return parts_of(self.server.app)

    def send(self, *snapshots: bytes) -> dict[str, Any]:
        """Report, with the server's clock as the agent's own."""
        return self.ask(
            "POST",
            "/v1/snapshots",
            b"[" + b",".join(snapshots) + b"]",
            {"Gpudiag-Sent-At": str(self.clock.now)},
        )

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        answer = self.client._ask(method, path, body, headers)
        return answer.json() if "json" in answer.headers["content-type"] else answer.body.decode()

    def time_passes(self, seconds: float) -> None:
        """Nobody reports; the server's own clock work is done."""
        self.clock.now += seconds
        self.parts.writer.do(lambda: self.parts.clockwork.rounds.tick(self.clock.now))

    def open_findings(self, node: str) -> list[str]:
        said = self.client.diagnosis(node)
        return [f["rule"] for f in said["findings"]] + [
            f["rule"] for gpu in said["gpus"] for f in gpu["findings"]
        ]


@pytest.fixture
def make_api(tmp_path: Path) -> Iterator[Callable[..., Api]]:
    """Start an API: `make_api(config=…, open_to_all=True)`."""
    made: list[Api] = []

    def make(store: str | None = None, **options: Any) -> Api:
        made.append(Api(store or f"sqlite:///{tmp_path}/store.sqlite3", options=options).start())
        return made[-1]

    yield make
    for api in made:
        api.stop()


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()


@pytest.fixture
def node(api: Api) -> ReportingNode:
    return ReportingNode("node-3", api)
