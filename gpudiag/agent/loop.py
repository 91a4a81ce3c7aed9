"""Ties the agent together: samples, takes a snapshot every interval, sends it, answers at its door.

Three threads that do not wait for each other: the sampler (may hang in the driver), the loop that takes
snapshots, and the sender (may hang in the network).
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import zlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from gpudiag import __version__
from gpudiag.agent.clock import Clock, RealClock
from gpudiag.agent.files import text
from gpudiag.agent.host import Host, gpu_place
from gpudiag.agent.kernel_log import KernelLog
from gpudiag.agent.local import Door
from gpudiag.agent.processes import Processes
from gpudiag.agent.reporter import Api, Reporter
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.servers import DeclaredServer, Servers
from gpudiag.agent.spool import Spool
from gpudiag.agent.worker import Harvest
from gpudiag.model import AgentReading, Gap, HostReading, KernelEvent, ProcessReading, Snapshot, Source
from gpudiag.words import language_in, words
from gpudiag.words.refusals import agent_says

HISTORY = 360  # snapshots kept for `gpudiag why`: an hour
RELEASE_SECONDS = 600.0
LONGEST_RELEASE = 86_400.0

_Seen = TypeVar("_Seen")


class Observer:
    """Sees one host: starts sampling, and gives snapshots."""

    def __init__(
        self,
        *,
        node: str | None = None,
        interval: float = 10.0,
        source: Source = "agent",
        clock: Clock | None = None,
        proc: str = "/proc",
        sys: str = "/sys",
        kmsg: str = "/dev/kmsg",
        state: Path | None = None,
        servers: tuple[DeclaredServer, ...] = (),
        period: float = 1.0,
    ) -> None:
        self.node = node or host_name()
        self.interval = interval
        self.clock = clock or RealClock()
        self.start_id = uuid.uuid4().hex
        self.sequence = 0
        self._source = source
        self._proc, self._sys = proc, sys
        self._host = Host(proc, sys)
        self._processes = Processes(proc, sys)
        self._servers = Servers(proc, servers)
        bookmark = state / "kernel-log" if state is not None else None
        self._kernel_log = KernelLog(kmsg, bookmark, self._host.boot_id)
        self._places: dict[str, tuple[int | None, list[int] | None]] = {}
        self._started_at = self.clock.time()
        self._opened_with: str | None = None
        self.driver_changed = False
        self.sampler = Sampler(self.clock, period=period)

    def start(self) -> None:
        """Begins to sample."""
        self.sampler.start()

    def stop(self) -> None:
        self.sampler.stop()
        self._kernel_log.close()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits between two snapshots, see `Sampler.wait`."""
        return self.sampler.wait(event, seconds)

    def snapshot(self, lost: int = 0) -> Snapshot:
        """Everything since the snapshot before."""
        harvest = self.sampler.harvest(patience=max(2.0, 0.8 * self.interval))
        now, monotonic = self.clock.time(), self.clock.monotonic()
        look = _Looking(harvest.gaps)
        host = look.at("host", lambda: self._host.read(now, monotonic), HostReading())
        processes: list[ProcessReading] = look.at(
            "processes",
            lambda: self._processes.read(harvest.uses, harvest.minors, now, monotonic, host.booted_at),
            [],
        )
        snapshot = Snapshot(
            node=self.node,
            taken_at=round(now, 3),
            source=self._source,
            agent=self._self_portrait(lost),
            driver_version=harvest.driver_version or host.kernel_driver_version,
            cuda_version=harvest.cuda_version,
            nvml=harvest.nvml,
            gpus=harvest.gpus,
            processes=processes,
            engines=look.at("engines", lambda: self._servers.read(processes), []),
            host=host,
            events=look.at("kernel_log", lambda: self._events(harvest, host), []),
            gaps=harvest.gaps,
        )
        self._place_gpus(snapshot)
        self._add_gaps(snapshot)
        self._watch_driver(harvest, host)
        self._kernel_log.remember()
        self.sequence += 1
        return snapshot

    def _events(self, harvest: Harvest, host: HostReading) -> list[KernelEvent]:
        """What the kernel log tells; where it may not be read, the Xid numbers that NVML gives."""
        events = self._kernel_log.events(host.booted_at)
        self.sampler.listens = self._kernel_log.reason is not None
        now = self.clock.time()
        buses = {gpu.index: gpu.bus_id for gpu in harvest.gpus}
        for gpu, xid in harvest.xids:
            bus = buses.get(gpu) if gpu is not None else None
            text = f"NVML event: Xid {xid} on {bus or 'a GPU'}"
            events.append(KernelEvent(kind="xid", text=text, at=now, number=xid, gpu=gpu, bus_id=bus))
        return events

    def _self_portrait(self, lost: int) -> AgentReading:
        pages = (text("/proc/self/statm") or "0 0").split()[1]
        return AgentReading(
            start_id=self.start_id,
            sequence=self.sequence,
            version=__version__,
            interval_seconds=self.interval,
            started_at=round(self._started_at, 3),
            lost_snapshots=lost,
            sees_all_processes=self._processes.sees_all,
            kernel_log_readable=self._kernel_log.reason is None,
            uid=os.geteuid(),
            cpu_seconds=round(time.process_time(), 3),
            resident_bytes=int(pages) * os.sysconf("SC_PAGE_SIZE") or None,
        )

    def _place_gpus(self, snapshot: Snapshot) -> None:
        """NUMA node and near CPUs, which never change: read once per address."""
        for gpu in snapshot.gpus:
            if gpu.bus_id is not None:
                place = self._places.get(gpu.bus_id)
                if place is None:
                    place = self._places[gpu.bus_id] = gpu_place(self._sys, gpu.bus_id)
                gpu.numa_node, gpu.cpu_affinity = place

    def _add_gaps(self, snapshot: Snapshot) -> None:
        if self._kernel_log.reason is not None:
            snapshot.gaps.append(Gap(subject="host", metric="kernel_log", reason=self._kernel_log.reason))
        if not self._processes.handles_visible:
            snapshot.gaps.append(Gap(subject="host", metric="open_devices", reason="no_permission"))

    def _watch_driver(self, harvest: Harvest, host: HostReading) -> None:
        """Notices that the driver was replaced under us: the library in this process is then the old one."""
        if harvest.nvml.error is None and harvest.driver_version is not None:
            self._opened_with = harvest.driver_version
        elif harvest.nvml.error == "library_mismatch" and self._opened_with is not None:
            running = host.kernel_driver_version
            self.driver_changed = running is not None and running != self._opened_with


class _Looking:
    """Looks at one part after the other: one that fails is a gap and takes no other with it."""

    def __init__(self, gaps: list[Gap]) -> None:
        self._gaps = gaps

    def at(self, part: str, look: Callable[[], _Seen], otherwise: _Seen) -> _Seen:
        try:
            return look()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"[:200]
            self._gaps.append(Gap(subject="host", metric=part, reason="unknown_error", detail=detail))
            return otherwise


class Agent:
    """The per-host agent: `run` until `stop`.

    `state` is where snapshots wait and the place in the kernel log is kept, `runtime` where the local door
    opens; without `api` nothing is sent.
    """

    def __init__(
        self,
        observer: Observer,
        api: Api | None = None,
        *,
        state: Path | None = None,
        runtime: Path | None = None,
        spool: Path | None = None,
        spool_bytes: int = 64 << 20,
        say: Callable[[str], None] = lambda line: None,
        language: str = "en",
        random_phase: bool = True,
    ) -> None:
        self.observer = observer
        self._clock = observer.clock
        self._say, self._language = say, language
        self._stop = threading.Event()
        self._random_phase = random_phase
        self._history: deque[tuple[float, bytes]] = deque(maxlen=HISTORY)
        self._queue: deque[bytes] = deque()
        self._blind: str | None = None  # the last thing that was said of GPUs that are not there
        self._arrived = threading.Event()
        self._reporter: Reporter | None = None
        if api is not None:
            # By node: what waits under another name would be refused with this node's token for ever.
            folder = (spool or (state or Path(".")) / "spool") / quote(observer.node, safe="")
            self._reporter = Reporter(api, Spool(folder, spool_bytes), say=say, language=language)
        self._sender = threading.Thread(target=self._send_all, name="sender", daemon=True)
        self._door = Door(
            runtime or Path("."),
            {
                "history": self._answer_history,
                "status": self._answer_status,
                "release": self._answer_release,
                "resume": self._answer_resume,
            },
            private=frozenset({"release", "resume"}),
        )
        self._has_door = runtime is not None

    def run(self) -> str:
        """Works until `stop`, or until the driver's library must be loaded afresh; tells which."""
        if self._has_door:
            trouble = self._door.open()
            if trouble is not None:
                self._say(trouble.said(self._language))
        self.observer.start()
        if self._reporter is not None:
            self._sender.start()
        try:
            return self._take_snapshots()
        finally:
            self._stop.set()
            self._arrived.set()
            self._door.close()
            self.observer.stop()
            if self._reporter is not None:
                self._sender.join(2.0)
                for snapshot in list(self._queue):  # the one that hangs in the network as well
                    self._reporter.keep(snapshot)

    def stop(self) -> None:
        """Ends `run`; what could not be sent waits on disk."""
        self._stop.set()

    @property
    def history(self) -> list[Snapshot]:
        """The snapshots of the last hour, the oldest first."""
        decode = msgspec.json.Decoder(Snapshot).decode
        return [decode(zlib.decompress(content)) for _, content in list(self._history)]

    # ---- taking

    def _take_snapshots(self) -> str:
        interval = self.observer.interval
        due = self._clock.monotonic() + interval
        if self._random_phase and self._reporter is not None:
            due = self._clock.monotonic() + max(1.0, self._reporter.phase(interval))
        while not self.observer.wait(self._stop, due - self._clock.monotonic()):
            try:
                self._take()
            except Exception as error:  # one look that fails must not be the last
                self._tell("no-snapshot", error=f"{type(error).__name__}: {error}")
            if self.observer.driver_changed:
                self._tell("driver-replaced")
                return "restart"
            now = self._clock.monotonic()
            due = max(due + interval, now) if now < due + interval else now + interval
        return "stopped"

    def _tell(self, key: str, **values: object) -> None:
        self._say(agent_says(key, self._language, **values))

    def _take(self) -> None:
        lost = self._reporter.lost if self._reporter is not None else 0
        snapshot = self.observer.snapshot(lost)
        content = msgspec.json.encode(snapshot)
        self._history.append((snapshot.taken_at, zlib.compress(content, 1)))
        if self._reporter is not None:
            self._queue.append(content)
            self._arrived.set()
        self._tell_of_gpus(snapshot)

    def _tell_of_gpus(self, snapshot: Snapshot) -> None:
        """Says once that no GPU is seen, and why, and says when some are."""
        nvml, host = snapshot.nvml, snapshot.host
        if nvml is None or nvml.released or nvml.error == "timeout":  # there may be some: not looked at
            return
        if snapshot.gpus:
            if self._blind is not None:
                self._blind = None
                self._tell("gpus-now", count=len(snapshot.gpus))
            return
        if host is not None and host.pci_gpu_count == 0:
            line = agent_says("no-gpu", self._language)
        else:
            reason = words(self._language).REASON[nvml.error or "not_found"]
            line = agent_says("no-gpu-seen", self._language, reason=reason)
        if line != self._blind:
            self._blind = line
            self._say(line)

    # ---- sending

    def _send_all(self) -> None:
        reporter = self._reporter
        assert reporter is not None
        wait = 0.0
        while not self._stop.is_set():
            if self._queue:
                wait = reporter.report(self._queue[0], self._clock.monotonic())
                self._queue.popleft()
                continue
            if reporter.waiting:
                wait = reporter.push(self._clock.monotonic())
            self._arrived.clear()
            if not self._queue and not self._stop.is_set():  # either may have come just before
                self._clock.wait(self._arrived, wait if reporter.waiting else 3600.0)

    # ---- the door

    def _answer_history(self, request: dict[str, Any]) -> bytes:
        seconds = _number(request.get("seconds"), 3600.0)
        since = self._clock.time() - seconds
        found = [zlib.decompress(content) for at, content in list(self._history) if at >= since]
        return b"[" + b",".join(found) + b"]"

    def _answer_status(self, request: dict[str, Any]) -> bytes:
        sampler, reporter = self.observer.sampler, self._reporter
        language = language_in(str(request.get("lang"))) or self._language  # of who asks
        return msgspec.json.encode(
            {
                "node": self.observer.node,
                "pid": os.getpid(),
                "snapshots": self.observer.sequence,
                "waiting": reporter.waiting if reporter else 0,
                "lost": reporter.lost if reporter else 0,
                "trouble": reporter.trouble(language) if reporter else None,
                "released": sampler.released,
                "holds_driver": sampler.holds_driver,
            }
        )

    def _answer_release(self, request: dict[str, Any]) -> bytes:
        seconds = min(LONGEST_RELEASE, max(1.0, _number(request.get("seconds"), RELEASE_SECONDS)))
        self.observer.sampler.release(seconds)
        self._wait_until_driver_is(held=False)
        return msgspec.json.encode({"released": not self.observer.sampler.holds_driver, "seconds": seconds})

    def _answer_resume(self, request: dict[str, Any]) -> bytes:
        self.observer.sampler.resume()
        self._wait_until_driver_is(held=True)  # who asks for the status next is told that they are watched
        return msgspec.json.encode({"released": False})

    def _wait_until_driver_is(self, held: bool) -> None:
        for _ in range(50):
            if self.observer.sampler.holds_driver is held:
                return
            time.sleep(0.1)


def host_name() -> str:
    """The name under which this host reports, without its domain."""
    return socket.gethostname().partition(".")[0]


def _number(value: Any, default: float) -> float:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return float(value) if usable else default
