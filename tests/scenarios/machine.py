"""A machine below the real agent: its GPUs, processes, ports and kernel log, and how time passes there."""

from __future__ import annotations

import shlex
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol, Self

from gpudiag.agent import Agent, DeclaredServer, Observer
from tests.doubles.nvml import Nvml
from tests.scenarios.clock import SteppedClock
from tests.scenarios.engine_pages import Engine, Load
from tests.scenarios.files import HostFiles, Tale, folder
from tests.scenarios.gpu import GpuTale

INTERVAL = 10.0
START = 1_772_442_197.0  # a morning in March 2026: never now, so that nobody leans on the machine's clock


class Api(Protocol):
    """Who takes the reports."""

    def send(self, snapshots: bytes) -> object: ...


class Machine:
    """One machine and the real agent on it; reports go to `api` as bytes."""

    def __init__(
        self,
        api: Api,
        *,
        gpus: int = 1,
        model: str = "H100",
        node: str = "node-1",
        start: float = START,
        cores: int = 8,
        up_seconds: float = 864_000.0,
        sees_all: bool = True,
        declared: tuple[DeclaredServer, ...] = (),
        driver_version: str = "575.57.08",
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="scenario-", dir=folder())
        root = Path(self._folder.name)
        self.node, self._api = node, api
        self.nvml = Nvml(gpus=gpus, model=model, driver_version=driver_version).load()
        self.clock = SteppedClock(start)
        self.nvml.clock_is(start)
        self.files = HostFiles(root, cores=cores, up_seconds=up_seconds, sees_all=sees_all)
        self.declared = declared
        self.gpus = [GpuTale(gpu) for gpu in self.nvml.gpus]
        self._holds: dict[int, dict[int, int | None]] = {}  # pid → bytes by GPU
        self._kinds: dict[int, str] = {}
        self._sm: dict[int, int] = {}
        self.engines: list[Engine] = []
        self._at = self._told_at = 0.0
        self._agent: Agent | None = None
        self._thread: threading.Thread | None = None
        self.said: list[str] = []
        for tale in self.gpus:
            tale.rests()
            self.files.gpu_on_bus(tale.double.pci_bus_id)
        self.files.file("driver/nvidia/version", f"NVRM version: NVIDIA UNIX {driver_version}  Release Build")
        self.clock.before.append(self._prepare)

    # ---- what is there

    def gpu(self, index: int) -> GpuTale:
        return self.gpus[index]

    def process(
        self,
        pid: int,
        command: str | list[str],
        *,
        on: dict[int, int | None] | None = None,
        name: str | None = None,
        kind: str = "compute",
        sm_percent: int = 0,
        running_minutes: float = 120.0,
        **facts: Any,
    ) -> Tale:
        """A process: `on` is what it holds of each GPU; `facts` as in files.Tale. Said again, it changes."""
        words = command if isinstance(command, list) else shlex.split(command)
        facts.setdefault("started", self.files.up_seconds + self._at - 60 * running_minutes)
        if on and "opens" not in facts:
            facts["opens"] = tuple(f"/dev/nvidia{gpu}" for gpu in on)
        known = self.files.tales.get(pid)
        if known is not None:
            facts["started"] = known.started
        tale = self.files.runs(Tale(pid, (name or Path(words[0]).name)[:15], words, **facts))
        if on is not None:
            self._holds[pid] = dict(on)
        self._kinds[pid], self._sm[pid] = kind, sm_percent
        self._list_processes()
        return tale

    def changes(self, pid: int, **facts: Any) -> None:
        """Other values for a process that is there."""
        tale = self.files.tales[pid]
        for name, value in facts.items():
            setattr(tale, name, value)
        self.files.runs(tale)

    def process_seen_by_driver_only(self, pid: int, on: dict[int, int]) -> None:
        """NVML lists it; /proc here does not know it."""
        self._holds[pid] = dict(on)
        self._list_processes()

    def ends(self, pid: int, *, driver_forgets: bool = True) -> None:
        """The process is no more."""
        if pid in self.files.tales:
            self.files.ends(pid)
        if driver_forgets:
            self._holds.pop(pid, None)
        self._list_processes()

    def holds(self, pid: int, on: dict[int, int | None]) -> None:
        """What a process holds of each GPU from now on."""
        self._holds[pid] = dict(on)
        self._list_processes()

    def hides(self, gpu: int, used_bytes: int) -> None:
        """Memory in use that belongs to no listed process."""
        self.gpus[gpu].hidden_bytes = used_bytes
        self._list_processes()

    def engine(self, engine: str, load: Load | None = None, **behaviour: Any) -> Engine:
        """A server's port; a process of its own says where with `--port`."""
        self.engines.append(Engine(engine, load, **behaviour))
        return self.engines[-1]

    def kernel_log(self, *lines: str) -> None:
        """Lines of the kernel log, now."""
        for line in lines:
            self.files.logged(line)

    def cpu(self, *cores: float, iowait: float = 0.0) -> None:
        """Percent of the first cores; the others rest."""
        self.files.uses_cpu(*cores, iowait=iowait)

    # ---- time

    def for_minutes(self, minutes: float) -> Self:
        return self.for_seconds(60 * minutes)

    def for_seconds(self, seconds: float) -> Self:
        """Time passes; the agent (started at the first call) sees what happens."""
        if self._thread is None:
            self._start_agent()
        self.clock.passes(seconds)
        return self

    def goes_silent(self) -> Self:
        """The agent ends."""
        self._stop_agent()
        return self

    def reboots(
        self, boot_id: str = "22222222-2222-3333-4444-555555555555", down_seconds: float = 90.0
    ) -> Self:
        """The machine starts anew: processes are gone, the log is empty, the agent starts again."""
        self._stop_agent()
        for pid in list(self.files.tales):
            self.ends(pid)
        self.clock.passes(down_seconds)
        self.files.up_seconds = -self.clock.monotonic()
        self.files.kmsg.write_bytes(b"")
        self.files.file("sys/kernel/random/boot_id", boot_id)
        self.files.tell(self.clock.monotonic())
        return self

    def close(self) -> None:
        self.nvml.is_well_again()
        self._stop_agent()
        for engine in self.engines:
            engine.closes()
        self.nvml.close()
        self._folder.cleanup()

    # ---- inside

    def _prepare(self, moment: float) -> None:
        if moment <= self._at:
            return
        for tale in self.gpus:
            tale.prepares(self._at, moment)
        for engine in self.engines:
            engine.load.goes_on(moment - self._at)
        self._at = moment
        self.nvml.clock_is(self.clock.time() - self.clock.monotonic() + moment)
        if moment - self._told_at >= INTERVAL or moment % INTERVAL == 0:
            self._told_at = moment
            self.files.tell(moment)

    def _start_agent(self) -> None:
        state = Path(self._folder.name) / "state"
        state.mkdir(exist_ok=True)
        observer = Observer(
            node=self.node,
            clock=self.clock,
            proc=str(self.files.proc),
            sys=str(self.files.sys),
            kmsg=str(self.files.kmsg),
            state=state,
            servers=self.declared,
        )
        agent = Agent(observer, self._api, state=state, say=self.said.append, random_phase=False)
        self._agent = agent
        self._thread = threading.Thread(target=agent.run, name="agent")
        self._thread.start()
        self.clock.expects(3)  # the sampler, the loop, the sender

    def _stop_agent(self) -> None:
        if self._agent is None or self._thread is None:
            return
        self._agent.stop()
        for _ in range(400):
            if not self._thread.is_alive():
                break
            self.clock.passes(0.0)
            self._thread.join(0.025)
        self._agent = self._thread = None

    def _list_processes(self) -> None:
        used = [tale.hidden_bytes for tale in self.gpus]
        for tale in self.gpus:
            tale.double.runs_no_process()
        for pid, on in self._holds.items():
            for gpu, held in on.items():
                kind, sm = self._kinds.get(pid, "compute"), self._sm.get(pid, 0)
                self.gpus[gpu].double.runs_process(pid, held, kind=kind, sm_percent=sm)
                used[gpu] += held or 0
        for tale, total in zip(self.gpus, used, strict=True):
            tale.double.holds(total)
