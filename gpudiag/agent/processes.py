"""Facts about processes that use GPUs, from /proc: who, since when, what it does, where it belongs.

Read at each snapshot: state, CPU, bytes read. Read once per process: command line, user, container.
Its hottest threads are looked at only while it uses the CPU.
"""

from __future__ import annotations

import os
import pwd
import re

from gpudiag.agent.files import TICKS, Stat, numbers, raw, stat_of, text
from gpudiag.agent.holders import Holders, open_devices
from gpudiag.agent.host import cpu_list, pressure
from gpudiag.agent.masking import masked, printable
from gpudiag.model import GpuUse, ProcessReading, ThreadReading
from gpudiag.workloads import workload_of_text

PAGE = os.sysconf("SC_PAGE_SIZE")
BUSY_PERCENT = 5.0  # below this a process has no hot thread worth a look
THREADS_TOLD = 3
THREADS_KNOWN = 16  # looked at between two full rounds
FULL_ROUND_SECONDS = 30.0
LIBRARIES_SECONDS = 60.0  # between two looks at mapped libraries
LIBRARIES_KNOWN_SECONDS = 600.0  # once they are known
MOST_PROCESSES = 200
MOST_CHILDREN = 64
LONGEST_COMMAND = 4096  # looked at to tell a server
LONGEST_LINE_OF_PARENTS = 12

_MAPPED = (
    ("jax", ("jaxlib", "xla_extension", "/jax/")),
    ("tensorflow", ("libtensorflow", "tensorflow_framework")),
    ("torch", ("libtorch", "libc10")),
    ("tensorrt", ("libnvinfer",)),
    ("cuda", ("libcudart", "libcuda.so")),
)
_RANKS = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "NODE_RANK",
    "MASTER_ADDR",  # with the port the same for all ranks of a job, on every node
    "MASTER_PORT",
    "SLURM_PROCID",
    "SLURM_JOB_ID",
    "OMPI_COMM_WORLD_RANK",
)
_CONTAINER = re.compile(r"(?:docker[-/]|cri-containerd[-:]|crio-|libpod-|containerd[-/])?([0-9a-f]{64})")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})")
_SLURM = re.compile(r"/job_(\d+)")
_UNIT = re.compile(r"/([^/]+\.(?:service|scope))(?:/|$)")


class _Known:
    """What is kept of one process between snapshots."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.started_at: float | None = None  # kept: boot time, computed anew, wavers
        self.at: float | None = None
        self.cpu = 0
        self.io: tuple[int, int] | None = None
        self.threads: dict[int, tuple[int, float]] = {}  # tid → ticks, and when they were read
        self.hot: list[int] = []
        self.children: dict[int, tuple[int, float]] = {}
        self.full_round_at = 0.0
        self.throttled: int | None = None
        self.command: str | None = None
        self.user: str | None = None
        self.frameworks: list[str] | None = None
        self.frameworks_at: float | None = None
        self.cpus: list[int] | None = None
        self.ranks: dict[str, str] | None = None
        self.place: dict[str, str] = {}
        self.cgroup: str | None = None
        self.read_once = False


class Processes:
    """Reads processes under `proc`; `sys` holds the cgroup files."""

    def __init__(self, proc: str = "/proc", sys: str = "/sys") -> None:
        self._proc = proc
        self._sys = sys
        self._known: dict[int, _Known] = {}
        self._holders = Holders(proc)
        self._users: dict[int, str] = {}
        self._booted_at: float | None = None
        self.sees_all = self._sees_all()

    @property
    def handles_visible(self) -> bool:
        """Whether the open files of all processes could be looked at."""
        return not self._holders.denied

    def read(
        self,
        uses: dict[int, list[GpuUse]],
        minors: dict[int, int],
        now: float,
        monotonic: float,
        booted_at: float | None,
    ) -> list[ProcessReading]:
        """Every process that uses a GPU or holds one open, and the servers above them.

        `uses`: what NVML says, by pid. `minors`: device file number → GPU index.
        """
        self._booted_at = booted_at
        holders = self._holders.read(monotonic)
        pids = list(uses)[:MOST_PROCESSES]
        pids += [pid for pid in holders if pid not in uses and pid != os.getpid()]
        found: dict[int, ProcessReading] = {}
        for pid in pids:
            found[pid] = self._read_one(pid, uses.get(pid), minors, monotonic, in_nvml=pid in uses)
        for pid in self._servers_above(found):
            found[pid] = self._read_one(pid, None, minors, monotonic, in_nvml=None)
        for pid in [pid for pid in self._known if pid not in found]:
            del self._known[pid]
        return list(found.values())

    # ---- one process

    def _read_one(
        self,
        pid: int,
        uses: list[GpuUse] | None,
        minors: dict[int, int],
        monotonic: float,
        *,
        in_nvml: bool | None,
    ) -> ProcessReading:
        reading = ProcessReading(pid=pid, gpus=uses, in_nvml=in_nvml)
        place = f"{self._proc}/{pid}"
        stat = stat_of(f"{place}/stat")
        if stat is not None and in_nvml and not self._is_the_same(pid, place):
            stat = None
        if stat is None:
            seen_before = pid in self._known
            reading.state = "gone" if seen_before or self.sees_all else None
            reading.hidden = None if seen_before or self.sees_all else True
            return reading
        known = self._known.get(pid)
        if known is None or known.start != stat.start:
            known = self._known[pid] = _Known(stat.start)
        if not known.read_once:
            self._read_once(known, place)
        reading.name = printable(stat.name)
        reading.state = stat.state
        reading.parent_pid = stat.parent or None
        reading.thread_count = stat.threads
        reading.last_cpu = stat.last_cpu
        if known.started_at is None:
            known.started_at = self._time_of(stat.start)
        reading.started_at = known.started_at
        reading.command, reading.user, reading.ranks = known.command, known.user, known.ranks
        reading.container, reading.pod = known.place.get("container"), known.place.get("pod")
        reading.slurm_job, reading.unit = known.place.get("slurm_job"), known.place.get("unit")
        if stat.state == "D":
            reading.wait_channel = _wait_channel(place)
        self._read_parents(reading, stat)
        self._read_rates(reading, known, stat, place, monotonic)
        self._read_frameworks(known, place, monotonic)
        reading.frameworks, reading.cpus_allowed = known.frameworks, known.cpus
        opened = self._holders.found.get(pid)
        if opened is not None:
            reading.open_devices = sorted(minors[minor] for minor in opened if minor in minors)
        return reading

    def _is_the_same(self, pid: int, place: str) -> bool:
        """Whether a pid of NVML, which is the host's, means the process that has this pid here."""
        return self.sees_all or pid in self._known or bool(open_devices(f"{place}/fd"))

    def _read_once(self, known: _Known, place: str) -> None:
        command = raw(f"{place}/cmdline")
        if command:
            arguments = command.rstrip(b"\0").decode("utf-8", "replace").split("\0")
            known.command = masked(arguments)
        try:
            known.user = self._user(os.stat(place).st_uid)
        except OSError:
            known.user = None
        known.cgroup = _cgroup_of(text(f"{place}/cgroup"))
        known.place = belonging(known.cgroup or "")
        environment = raw(f"{place}/environ")
        if environment:
            known.ranks = _ranks(environment) or None
        known.read_once = bool(command)

    def _user(self, uid: int) -> str:
        name = self._users.get(uid)
        if name is None:
            try:
                name = pwd.getpwuid(uid).pw_name
            except KeyError:
                name = str(uid)  # a user of a container
            self._users[uid] = name
        return name

    def _time_of(self, start: int) -> float | None:
        """Unix seconds of a start in ticks since boot."""
        return None if self._booted_at is None else float(round(self._booted_at + start / TICKS))

    def _read_parents(self, reading: ProcessReading, stat: Stat) -> None:
        names: list[str] = []
        parent = stat.parent
        while parent > 0 and len(names) < LONGEST_LINE_OF_PARENTS:
            above = stat_of(f"{self._proc}/{parent}/stat")
            if above is None:
                break
            names.append(printable(above.name))
            parent = above.parent
        reading.parents = names
        reading.parent_name = names[0] if names else None

    def _read_rates(
        self, reading: ProcessReading, known: _Known, stat: Stat, place: str, monotonic: float
    ) -> None:
        span = monotonic - known.at if known.at is not None else 0.0
        reading.resident_bytes = _resident(place)
        if span > 0:
            reading.cpu_percent = round(100 * (stat.cpu - known.cpu) / TICKS / span, 1)
        self._read_io(reading, known, place, span)
        self._read_threads(reading, known, stat, place, monotonic)
        self._read_children(reading, known, place, monotonic)
        self._read_quota(reading, known, span)
        known.at, known.cpu = monotonic, stat.cpu

    def _read_io(self, reading: ProcessReading, known: _Known, place: str, span: float) -> None:
        io = _io(raw(f"{place}/io"))
        if io is not None and known.io is not None and span > 0:
            read, written = (max(0, new - old) / span for new, old in zip(io, known.io, strict=True))
            reading.read_bytes_per_second = round(read)
            reading.write_bytes_per_second = round(written)
        known.io = io

    def _read_threads(
        self,
        reading: ProcessReading,
        known: _Known,
        stat: Stat,
        place: str,
        monotonic: float,
    ) -> None:
        """The three busiest threads. All are looked at now and then, in between those that were busy."""
        if reading.cpu_percent is not None and reading.cpu_percent < BUSY_PERCENT and stat.state != "D":
            known.threads.clear()
            known.hot = []
            reading.threads = []
            return
        whole = not known.hot or monotonic - known.full_round_at >= FULL_ROUND_SECONDS
        readings: list[ThreadReading] = []
        seen: dict[int, tuple[int, float]] = {}
        for tid in numbers(f"{place}/task") if whole else known.hot:
            thread = stat_of(f"{place}/task/{tid}/stat")
            if thread is None:
                continue
            seen[tid] = (thread.cpu, monotonic)
            ticks, at = known.threads.get(tid, (0, monotonic))
            percent = (
                round(100 * (thread.cpu - ticks) / TICKS / (monotonic - at), 1) if monotonic > at else None
            )
            readings.append(
                ThreadReading(tid=tid, name=printable(thread.name), cpu_percent=percent, state=thread.state)
            )
        known.threads = seen if whole else {**known.threads, **seen}
        self._tell_hottest(reading, known, readings, place)
        if whole and known.hot:
            known.full_round_at = monotonic

    def _tell_hottest(
        self, reading: ProcessReading, known: _Known, readings: list[ThreadReading], place: str
    ) -> None:
        rated = [thread for thread in readings if thread.cpu_percent is not None]
        rated.sort(key=lambda thread: -(thread.cpu_percent or 0.0))
        known.hot = [thread.tid for thread in rated[:THREADS_KNOWN]]
        for thread in rated[:THREADS_TOLD]:
            if thread.state == "D":
                thread.wait_channel = _wait_channel(f"{place}/task/{thread.tid}")
        reading.threads = rated[:THREADS_TOLD] or None

    def _read_children(self, reading: ProcessReading, known: _Known, place: str, monotonic: float) -> None:
        """The busiest child processes: data loader workers do the work that a GPU waits for."""
        listed = text(f"{place}/task/{reading.pid}/children")
        if not listed:
            known.children = {}
            return
        seen: dict[int, tuple[int, float]] = {}
        found: list[ThreadReading] = []
        for pid in [int(word) for word in listed.split()[:MOST_CHILDREN]]:
            child = stat_of(f"{self._proc}/{pid}/stat")
            if child is None:
                continue
            seen[pid] = (child.cpu, monotonic)
            ticks, at = known.children.get(pid, (0, monotonic))
            if monotonic > at:
                percent = round(100 * (child.cpu - ticks) / TICKS / (monotonic - at), 1)
                name = printable(child.name)
                found.append(ThreadReading(tid=pid, name=name, cpu_percent=percent, state=child.state))
        known.children = seen
        found.sort(key=lambda child: -(child.cpu_percent or 0.0))
        reading.children = found[:THREADS_TOLD] or None

    def _read_quota(self, reading: ProcessReading, known: _Known, span: float) -> None:
        if known.cgroup is None or known.cgroup == "/":
            return
        group = f"{self._sys}/fs/cgroup{known.cgroup}"
        throttled = _counter(f"{group}/cpu.stat", "throttled_usec")
        if throttled is not None and known.throttled is not None and span > 0:
            share = (throttled - known.throttled) / 1e6 / span
            reading.cpu_quota_throttled_ratio = round(max(0.0, share), 4)
        known.throttled = throttled
        reading.cpu_pressure_some = pressure(f"{group}/cpu.pressure", "some")
        reading.oom_kills = _counter(f"{group}/memory.events", "oom_kill")

    def _read_frameworks(self, known: _Known, place: str, monotonic: float) -> None:
        """Which libraries it has mapped and where it may run; looked at often until it has loaded them."""
        if known.frameworks_at is not None:
            wait = LIBRARIES_KNOWN_SECONDS if known.frameworks else LIBRARIES_SECONDS
            if monotonic - known.frameworks_at < wait:
                return
        known.frameworks_at = monotonic
        known.cpus = cpus_allowed(text(f"{place}/status"))
        maps = raw(f"{place}/maps")
        if maps:
            content = maps.decode("utf-8", "replace")
            known.frameworks = [
                name for name, parts in _MAPPED if any(part in content for part in parts)
            ] or None

    # ---- who else

    def _servers_above(self, found: dict[int, ProcessReading]) -> list[int]:
        """Pids of the inference servers that started the workers found: alive is told by them."""
        servers: list[int] = []
        for reading in list(found.values()):
            parent, steps = reading.parent_pid, 0
            while parent is not None and parent > 1 and steps < 4:
                steps += 1
                if parent in found or parent in servers:
                    break
                stat = stat_of(f"{self._proc}/{parent}/stat")
                if stat is None:
                    break
                command = (raw(f"{self._proc}/{parent}/cmdline") or b"").replace(b"\0", b" ")
                words = command[:LONGEST_COMMAND].decode("utf-8", "replace").strip()
                kind = workload_of_text(f"{words}\n{stat.name}")
                if kind.kind == "engine" and kind.role == "server":
                    servers.append(parent)
                parent = stat.parent
        return servers

    def _sees_all(self) -> bool:
        """Whether this is the host's own view: there pid 2 is the kernel's."""
        return text(f"{self._proc}/2/comm") == "kthreadd"


# ------------------------------------------------------------------------------------ single files


def belonging(cgroup: str) -> dict[str, str]:
    """Container, pod, Slurm job and unit that a cgroup path tells of."""
    found: dict[str, str] = {}
    container = _CONTAINER.search(cgroup)
    if container is not None:
        found["container"] = container[1][:12]
    pod = _POD.search(cgroup)
    if pod is not None:
        found["pod"] = pod[1].replace("_", "-")
    job = _SLURM.search(cgroup)
    if job is not None:
        found["slurm_job"] = job[1]
    units = [name for name in _UNIT.findall(cgroup) if "docker" not in name and "cri-" not in name]
    if units:
        found["unit"] = units[-1]
    return found


def cpus_allowed(status: str | None) -> list[int] | None:
    """The CPUs that /proc/PID/status lists as allowed."""
    for line in (status or "").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return cpu_list(line.partition(":")[2].strip())
    return None


def _wait_channel(place: str) -> str | None:
    channel = text(f"{place}/wchan")
    return channel if channel and channel != "0" else None


def _resident(place: str) -> int | None:
    fields = (text(f"{place}/statm") or "").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else None


def _io(content: bytes | None) -> tuple[int, int] | None:
    """Bytes read from and written to storage: what the page cache answered does not count."""
    if not content:
        return None
    read = written = 0
    for line in content.splitlines():
        if line.startswith(b"read_bytes:"):
            read = int(line[11:])
        elif line.startswith(b"write_bytes:"):
            written = int(line[12:])
    return read, written


def _cgroup_of(content: str | None) -> str | None:
    """The unified path; of version 1 the longest, which names the container or job."""
    paths = [line.split(":", 2)[2] for line in (content or "").splitlines() if line.count(":") >= 2]
    unified = [line[3:] for line in (content or "").splitlines() if line.startswith("0::")]
    if unified and unified[0] != "/":
        return unified[0]
    return max(paths, key=len) if paths else None


def _ranks(environment: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in environment.split(b"\0"):
        name, _, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if key in _RANKS:
            found[key] = printable(value.decode("utf-8", "replace"))[:32]
    return found


def _counter(path: str, name: str) -> int | None:
    for line in (text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None
