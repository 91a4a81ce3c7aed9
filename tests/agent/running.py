"""An agent that runs: in a thread on a clock that runs fast, or as the program."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from gpudiag.agent import Agent, NoAgent, Observer, ScaledClock, ask
from gpudiag.model import Snapshot
from tests.agent.machine import FakeHost
from tests.doubles.nvml import Nvml
from tests.waiting import until

FAST = 60  # seconds of the scenario in one real second


class Running:
    """An agent in a thread, on a clock that runs fast."""

    def __init__(self, host: FakeHost, tmp_path: Path, api: object = None) -> None:
        self.clock = ScaledClock(FAST)
        self.runtime = tmp_path / "run"
        self.said: list[str] = []
        self.agent = Agent(
            Observer(
                node="node-1",
                clock=self.clock,
                proc=str(host.proc),
                sys=str(host.sys),
                kmsg=str(host.kmsg),
                state=tmp_path,
            ),
            api,  # type: ignore[arg-type]
            state=tmp_path,
            runtime=self.runtime,
            say=self.said.append,
        )
        self.ended: list[str] = []
        self.thread = threading.Thread(target=lambda: self.ended.append(self.agent.run()))

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.agent.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()

    def takes(self, count: int) -> list[Snapshot]:
        """Waits until so many more snapshots were taken; all there are."""
        wanted = len(self.agent.history) + count
        until(lambda: len(self.agent.history) >= wanted)
        return self.agent.history

    def opens(self) -> Running:
        """Waits until it answers at its door."""

        def answers() -> bytes | None:
            try:
                return ask({"ask": "status"}, self.runtime)
            except NoAgent:
                return None

        until(answers)
        return self


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())", *words]


def environment(nvml: Nvml, tmp_path: Path) -> dict[str, str]:
    folders = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "runtime")}
    return {**nvml.environment(), **folders}
